// Special functions of one double, too long to inline into loops.
#include <cmath>
#include <limits>

#include "kernels/math.h"

namespace adjoint::fn {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
/// B(2j), the Bernoulli numbers, for the asymptotic series.
constexpr double kBernoulli[] = {1.0 / 6,       -1.0 / 30, 1.0 / 42,      -1.0 / 30,     5.0 / 66,
                                 -691.0 / 2730, 7.0 / 6,   -3617.0 / 510, 43867.0 / 798, -174611.0 / 330};
/// From here the series reach double precision.
constexpr double kFar = 12;
/// Below this the sum for polygamma would take too long.
constexpr double kFarLeft = -1e5;
/// Beyond this the factorial in polygamma overflows.
constexpr double kMaxOrder = 170;

/// x^n by repeated squaring: many times faster than std::pow for the small n of polygamma.
double power(double x, int n) {
  double result = 1;
  for (; n > 0; n >>= 1, x *= x) {
    if (n & 1) result *= x;
  }
  return result;
}

/// The Hurwitz zeta function for integer s >= 2: a direct sum, then the Euler-Maclaurin formula.
double zeta(int s, double q) {
  double sum = 0;
  while (q < kFar) {
    sum += 1 / power(q, s);
    q += 1;
  }
  const double tail = 1 / power(q, s);
  sum += tail * q / (s - 1) + tail / 2;
  double term = s * tail / q / 2;  // s (s+1) ... (s+2j-2) q^(1-s-2j) / (2j)!
  for (int j = 1; j <= 10; ++j) {
    sum += kBernoulli[j - 1] * term;
    term *= (s + 2 * j - 1.0) * (s + 2 * j) / ((2 * j + 1.0) * (2 * j + 2.0) * q * q);
  }
  return sum;
}

/// The remainder of x modulo 1 in [-1/2, 1/2], so that the reflection formulas stay exact for large |x|.
double centred_fraction(double x) { return x - std::round(x); }

}  // namespace

double digamma_double(double x) {
  if (x == 0) return std::copysign(kInf, -x);
  if (x < 0) {
    if (x == std::floor(x)) return kNan;
    return digamma_double(1 - x) - kPi / std::tan(kPi * centred_fraction(x));
  }
  if (x == kInf) return kInf;
  double sum = 0;
  for (; x < kFar; x += 1) sum -= 1 / x;
  sum += std::log(x) - 0.5 / x;
  const double square = 1 / (x * x);
  double power = square;
  for (int j = 1; j <= 10; ++j, power *= square) sum -= kBernoulli[j - 1] * power / (2 * j);
  return sum;
}

double polygamma_double(double order, double x) {
  if (order == 0) return digamma_double(x);
  if (!(order > 0 && order <= kMaxOrder) || order != std::floor(order) || std::isnan(x)) return kNan;
  if (x == kInf) return 0;
  const int n = static_cast<int>(order);
  if (x <= 0 && x == std::floor(x)) return n % 2 ? kInf : -kInf;
  if (n == 1 && x < 0) {
    const double sine = std::sin(kPi * centred_fraction(x));
    return kPi * kPi / (sine * sine) - polygamma_double(1, 1 - x);
  }
  if (x < kFarLeft) return kNan;
  return (n % 2 ? 1 : -1) * std::tgamma(n + 1.0) * zeta(n + 1, x);
}

double erfinv_double(double y) {
  const double size = std::fabs(y);
  if (!(size < 1)) return size == 1 ? std::copysign(kInf, y) : kNan;
  // A guess good to three digits, then Halley steps; for large y on erfc, which keeps the digits of 1 - y.
  double x = size * (std::sqrt(kPi) / 2);
  if (size > 0.01) {
    constexpr double a = 0.147;
    const double logarithm = std::log((1 - size) * (1 + size));
    const double middle = 2 / (kPi * a) + logarithm / 2;
    x = std::sqrt(std::sqrt(middle * middle - logarithm / a) - middle);
  }
  const int steps = size < 0.99 ? 2 : 3;
  for (int step = 0; step < steps; ++step) {
    const double error = size < 0.5 ? std::erf(x) - size : (1 - size) - std::erfc(x);
    const double newton = error * (std::sqrt(kPi) / 2) * std::exp(x * x);
    x -= newton / (1 + x * newton);
  }
  return std::copysign(x, y);
}

double lgamma_double(double x) {
#ifdef __GLIBC__
  int sign;  // the plain lgamma writes its sign into a global: a race between threads
  return ::lgamma_r(x, &sign);
#else
  return std::lgamma(x);
#endif
}

}  // namespace adjoint::fn
