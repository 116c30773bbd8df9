// Relatives of the gamma function: zeta, polygamma of higher orders, igamma, igammac.
#include <limits>

#include "cpu/math.h"
#include "cpu/special_series.h"

namespace adjoint::fn {
namespace {

/// From here the series reach double precision.
constexpr double kFar = 12;
/// Below this the sums for zeta would take too long.
constexpr double kFarLeft = -1e5;
/// Beyond this the factorial in polygamma overflows.
constexpr double kMaxOrder = 170;
/// A power of this order is found by multiplying.
constexpr double kSmallPower = 64;

/// x^-s; for small integers by repeated squaring, many times faster than std::pow.
double inverse_power(double x, double s) {
  if (s > kSmallPower || s != std::floor(s)) return std::pow(x, -s);
  double result = 1;
  for (int n = static_cast<int>(s); n > 0; n >>= 1, x *= x) {
    if (n & 1) result *= x;
  }
  return 1 / result;
}

// ---- The incomplete gamma functions

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr int kMaxTerms = 2000;
/// Temme's expansion is used for a beyond this, and x this near to a.
constexpr double kTemmeFrom = 20;
constexpr double kTemmeNear = 0.3;

/// mu - log(1 + mu), in full precision near 0 too.
double excess(double mu) {
  if (std::fabs(mu) > 0.1) return mu - std::log1p(mu);
  double term = mu * mu, sum = term / 2;
  for (int k = 3; std::fabs(term) > kEpsilon * std::fabs(sum) && k < 40; ++k) {
    term *= -mu;
    sum += term / k;
  }
  return sum;
}

/// x^a e^-x / Gamma(a + 1).
double gamma_weight(double a, double x) {
  if (a < kFar) return std::exp(a * std::log(x) - x - lgamma(a + 1));
  // Stirling's series, so that the large parts of the logarithm cancel by themselves.
  const double square = 1 / (a * a);
  double correction = 0, power = 1 / a;
  for (int j = 1; j <= 10; ++j, power *= square) correction += kBernoulli[j - 1] * power / (2 * j * (2 * j - 1));
  return std::exp(-a * excess((x - a) / a) - correction) / std::sqrt(2 * kPi * a);
}

/// P(a, x) by its power series: for x below a or small. Both this and the fraction stop when `precision` is reached.
double lower_series(double a, double x, double precision) {
  double term = 1, sum = 1;
  for (int n = 1; n < kMaxTerms; ++n) {
    term *= x / (a + n);
    sum += term;
    if (term <= precision * sum) break;
  }
  return sum * gamma_weight(a, x);
}

/// Q(a, x) by its continued fraction: for x above a.
double upper_fraction(double a, double x, double precision) {
  const double weight = gamma_weight(a, x) * a;
  if (weight == 0) return 0;
  // Numerators and denominators of the convergents, brought back to size now and then.
  constexpr double large = 1e100;
  double p_before = 0, p = 1, q_before = 1, q = x + 1 - a, b = q;
  for (int n = 1; n < kMaxTerms; ++n) {
    const double factor = -n * (n - a);
    b += 2;
    const double p_next = b * p + factor * p_before, q_next = b * q + factor * q_before;
    const double change = std::fabs(p_next * q - p * q_next);
    p_before = p;
    q_before = q;
    p = p_next;
    q = q_next;
    if (change <= precision * std::fabs(p_next * q_before)) break;
    if (std::fabs(q) > large) {
      p_before /= large;
      q_before /= large;
      p /= large;
      q /= large;
    }
  }
  return weight * (p / q);
}

/// P or Q for large a and x near a, by Temme's uniform expansion.
double temme(double a, double x, bool upper) {
  const double mu = (x - a) / a;
  const double half_square = excess(mu);
  const double eta = std::copysign(std::sqrt(2 * half_square), mu);
  double sum = 0, power = 1;
  for (const auto& row : tables::TEMME) {
    sum += power * polynomial(row, eta);
    power /= a;
  }
  const double rest = std::exp(-a * half_square) / std::sqrt(2 * kPi * a) * sum;
  const double side = upper ? 1 : -1;
  return std::erfc(side * eta * std::sqrt(a / 2)) / 2 + side * rest;
}

double incomplete_gamma(double a, double x, bool upper, double precision) {
  const double none = upper ? 1 : 0, all = upper ? 0 : 1;
  if (x < 0 || a < 0) return kNan;
  if (a == 0) return x > 0 ? all : kNan;
  if (x == 0) return none;
  if (std::isinf(a)) return std::isinf(x) ? kNan : none;
  if (std::isinf(x)) return all;
  if (std::isnan(a) || std::isnan(x)) return kNan;
  if (a > kTemmeFrom && std::fabs(x - a) < kTemmeNear * a) return temme(a, x, upper);
  if (x > a + 1) {
    const double q = upper_fraction(a, x, precision);
    return upper ? q : 1 - q;
  }
  const double p = lower_series(a, x, precision);
  return upper ? 1 - p : p;
}

}  // namespace

double zeta_double(double s, double q) {
  if (s == 1) return kInf;
  if (s < 1) return kNan;
  if (q <= 0) {
    if (q == std::floor(q)) return kInf;
    // A negative number to a fractional power; and a sum of too many terms.
    if (s != std::floor(s) || q < kFarLeft) return kNan;
  }
  if (!(q < kInf)) return kNan;
  // A direct sum, then the Euler-Maclaurin formula.
  double sum = 0;
  for (const double far = kFar + s; q < far; q += 1) {
    const double term = inverse_power(q, s);
    sum += term;
    if (q > 0 && term <= kEpsilon / 4 * sum) return sum;
  }
  const double tail = inverse_power(q, s);
  sum += tail * q / (s - 1) + tail / 2;
  double term = s * tail / q / 2;  // s (s+1) ... (s+2j-2) q^(1-s-2j) / (2j)!
  for (int j = 1; j <= 10; ++j) {
    sum += kBernoulli[j - 1] * term;
    term *= (s + 2 * j - 1.0) * (s + 2 * j) / ((2 * j + 1.0) * (2 * j + 2.0) * q * q);
  }
  return sum;
}

double polygamma_double(double order, double x) {
  if (!(order > 1 && order <= kMaxOrder) || order != std::floor(order) || std::isnan(x)) return kNan;
  return (std::fmod(order, 2) == 0 ? -1 : 1) * std::tgamma(order + 1) * zeta_double(order + 1, x);
}

double igamma_double(double a, double x, double precision) { return incomplete_gamma(a, x, false, precision); }
double igammac_double(double a, double x, double precision) { return incomplete_gamma(a, x, true, precision); }

}  // namespace adjoint::fn
