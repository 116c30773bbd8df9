// Orthogonal polynomials of any degree: by their recurrences, or in closed form where torch prefers that.
// The degree is cut to an integer; a negative one gives 0. No call takes longer than kMostSteps steps, whatever the
// degree: beyond, there is a closed form, an asymptotic one, or NaN.
#include <cmath>
#include <cstdint>
#include <limits>

#include "cpu/special.h"

namespace adjoint::fn {
namespace {

/// Beyond this degree a closed form is used inside [-1, 1].
constexpr int64_t kLongRecurrence = 6;
/// Beyond this degree there are no recurrences, which take a few nanoseconds a step.
constexpr int64_t kMostSteps = 1 << 16;
/// The same for Laguerre polynomials, which have nothing to take their place.
constexpr int64_t kMostLaguerreSteps = 1 << 20;

/// What no integer of 64 bits can hold counts as negative.
template <class T>
int64_t degree(T n) {
  return n > -1 && n < T(9.2e18) ? static_cast<int64_t>(n) : -1;
}

/// p(n) from p(0) = 1 and p(1) = `first`, where p(k + 1) = step(k, p(k), p(k - 1)). An overflow ends it.
template <class T, class Step>
T recur(int64_t n, T first, Step step) {
  if (n <= 0) return n < 0 ? T(0) : T(1);
  T before = 1, value = first, k = 1;
  for (int64_t left = n - 1; left > 0 && value == value; --left, k += 1) {
    const T next = step(k, value, before);
    before = value;
    value = next;
  }
  return value;
}

template <class T>
T chebyshev_recurrence(int64_t n, T x, T first) {
  return recur<T>(n, first, [x](T, T value, T before) { return (x + x) * value - before; });
}

bool inside(double x, int64_t n) { return n > kLongRecurrence && std::fabs(x) < 1; }
bool far_outside(double x, int64_t n) { return n > kMostSteps && std::fabs(x) > 1; }

/// What overflows in a recurrence is NaN one step later.
double finite_or_nan(double value) { return std::isfinite(value) ? value : std::numeric_limits<double>::quiet_NaN(); }

/// cosh(m t) / cosh(p t) and sinh(m t) / sinh(p t) for cosh(t) = |x|: the polynomials outside of [-1, 1].
double outer_even(double x, double m, double p) {
  const double t = std::acosh(std::fabs(x));
  return finite_or_nan(std::cosh(m * t) / std::cosh(p * t));
}
double outer_odd(double x, double m, double p) {
  const double t = std::acosh(std::fabs(x));
  return finite_or_nan(std::sinh(m * t) / std::sinh(p * t));
}

template <class T>
T sign_of_power(T x, int64_t n) {
  return x > 0 || n % 2 == 0 ? T(1) : T(-1);
}

template <class T>
T first_kind(T x, T degree_of) {
  const int64_t n = degree(degree_of);
  if (n > 1 && std::fabs(x) == 1) return sign_of_power(x, n);
  if (inside(x, n)) return std::cos(static_cast<T>(n) * std::acos(x));
  if (far_outside(x, n)) return sign_of_power(x, n) * static_cast<T>(outer_even(x, static_cast<double>(n), 0));
  return chebyshev_recurrence<T>(n, x, x);
}

template <class T>
T second_kind(T x, T degree_of) {
  const int64_t n = degree(degree_of);
  if (n > 1 && std::fabs(x) == 1) return sign_of_power(x, n) * static_cast<T>(n + 1);
  if (inside(x, n)) {
    const T angle = std::acos(x), sine = std::sin(angle), m = static_cast<T>(n + 1);
    return sine != 0 ? std::sin(m * angle) / sine : m * std::cos(m * angle) / x;
  }
  if (far_outside(x, n)) return sign_of_power(x, n) * static_cast<T>(outer_odd(x, static_cast<double>(n) + 1, 1));
  return chebyshev_recurrence<T>(n, x, x + x);
}

template <class T>
T third_kind(T x, T degree_of) {
  const int64_t n = degree(degree_of);
  if (n > 1 && std::fabs(x) == 1)
    return x > 0 ? T(1) : sign_of_power(x, n) * (static_cast<T>(n) + static_cast<T>(n) + 1);
  if (inside(x, n)) {
    const T half = std::acos(x) / 2;
    return std::cos((static_cast<T>(n) + static_cast<T>(n) + 1) * half) / std::cos(half);
  }
  if (far_outside(x, n)) {
    const double m = static_cast<double>(n) + 0.5;
    return sign_of_power(x, n) * static_cast<T>(x > 0 ? outer_even(x, m, 0.5) : outer_odd(x, m, 0.5));
  }
  return chebyshev_recurrence<T>(n, x, x + x - 1);
}

template <class T>
T fourth_kind(T x, T degree_of) {
  const int64_t n = degree(degree_of);
  if (n > 1 && std::fabs(x) == 1) return x > 0 ? static_cast<T>(n) + static_cast<T>(n) + 1 : sign_of_power(x, n);
  if (inside(x, n)) {
    const T half = std::acos(x) / 2;
    return std::sin((static_cast<T>(n) + static_cast<T>(n) + 1) * half) / std::sin(half);
  }
  if (far_outside(x, n)) {
    const double m = static_cast<double>(n) + 0.5;
    return sign_of_power(x, n) * static_cast<T>(x > 0 ? outer_odd(x, m, 0.5) : outer_even(x, m, 0.5));
  }
  return chebyshev_recurrence<T>(n, x, x + x + 1);
}

/// Hermite polynomials overflow beyond this degree.
template <class T>
constexpr int64_t kHermiteLimit = sizeof(T) == 4 ? 128 : 512;

template <class T>
T hermite(T x, T degree_of, T scale) {
  const int64_t n = degree(degree_of);
  if (n > kHermiteLimit<T>) return std::numeric_limits<T>::quiet_NaN();
  return recur<T>(n, scale * x, [x, scale](T k, T value, T before) { return scale * (x * value - k * before); });
}

template <class T>
T laguerre(T x, T degree_of) {
  const int64_t n = degree(degree_of);
  if (n > 0 && x == 0) return 1;
  if (n > kMostLaguerreSteps) return std::numeric_limits<T>::quiet_NaN();
  return recur<T>(n, 1 - x, [x](T k, T value, T before) { return ((k + k + (1 - x)) * value - k * before) / (k + 1); });
}

/// The modified Bessel function of order 0, whose terms are all positive; NaN where it overflows.
double growing_wave(double x) {
  if (x > 710) return std::numeric_limits<double>::quiet_NaN();
  double term = 1, sum = 1;
  for (double k = 1; term > sum * 1e-17; ++k) {
    term *= (x / 2 / k) * (x / 2 / k);
    sum += term;
  }
  return sum;
}

/// P_n(x) of a large degree: Stieltjes' series where many waves lie between x and the end of [-1, 1], else Hilb's
/// formula, inside and outside (Szego, Orthogonal Polynomials, 8.21).
double legendre_asymptotic(double x, int64_t degree) {
  const auto n = static_cast<double>(degree);
  const double sign = x < 0 && degree % 2 ? -1 : 1;
  if (std::fabs(x) > 1) {
    const double t = std::acosh(std::fabs(x));
    return sign * finite_or_nan(std::sqrt(t / std::sinh(t)) * growing_wave((n + 0.5) * t));
  }
  const double angle = std::acos(std::fabs(x)), sine = std::sin(angle);
  if (n * sine < 100) return sign * std::sqrt(angle / sine) * ::j0((n + 0.5) * angle);
  constexpr double quarter = 0.78539816339744830962;
  double factor = 2 / std::sqrt(4 * quarter * (n + 0.75)) / std::sqrt(2 * sine), sum = 0;
  for (int m = 0; m < 5; ++m) {
    sum += factor * std::cos((n + m + 0.5) * angle - (2 * m + 1) * quarter);
    factor *= (m + 0.5) * (m + 0.5) / ((m + 1) * (n + m + 1.5) * 2 * sine);
  }
  return sign * sum;
}

template <class T>
T legendre(T x, T degree_of) {
  const int64_t n = degree(degree_of);
  if (n > 1 && std::fabs(x) == 1) return sign_of_power(x, n);
  if (n > kMostSteps) return static_cast<T>(legendre_asymptotic(x, n));
  return recur<T>(n, x, [x](T k, T value, T before) { return ((k + k + 1) * x * value - k * before) / (k + 1); });
}

}  // namespace

#define ADJOINT_POLYNOMIAL(name, call)          \
  float name(float x, float n) { return call; } \
  double name(double x, double n) { return call; }
ADJOINT_POLYNOMIAL(chebyshev_polynomial_t, first_kind(x, n))
ADJOINT_POLYNOMIAL(chebyshev_polynomial_u, second_kind(x, n))
ADJOINT_POLYNOMIAL(chebyshev_polynomial_v, third_kind(x, n))
ADJOINT_POLYNOMIAL(chebyshev_polynomial_w, fourth_kind(x, n))
ADJOINT_POLYNOMIAL(hermite_polynomial_h, hermite(x, n, decltype(x)(2)))
ADJOINT_POLYNOMIAL(hermite_polynomial_he, hermite(x, n, decltype(x)(1)))
ADJOINT_POLYNOMIAL(laguerre_polynomial_l, laguerre(x, n))
ADJOINT_POLYNOMIAL(legendre_polynomial_p, legendre(x, n))
#undef ADJOINT_POLYNOMIAL

}  // namespace adjoint::fn
