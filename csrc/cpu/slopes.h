// How gamma and beta numbers move with their parameters while their place in the distribution stays: the derivatives of
// quantiles, -(dF/da) / p of the distribution function F and the density p. Here and on devices.
//
// dF/da is the integral of (the score of a) * p from one end to the number. On the scale of the logarithm, or of the
// log-odds, p relative to its value at the number is exp of a concave function, which decreases when one goes away from
// the mode. So the side is taken that does not hold the mode; a few Gauss-Legendre panels reach full precision there.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/legendre.h"
#include "cpu/math.h"

namespace adjoint::cpu {

inline constexpr int kSlopePoints = 20;
/// The density has fallen by exp of this where integrals end.
inline constexpr double kDrop = 40;
inline constexpr double kInfinity = std::numeric_limits<double>::infinity(),
                        kNaN = std::numeric_limits<double>::quiet_NaN();

using SlopeNodes = LegendreNodes<kSlopePoints>;

/// The integral of f over [0, length]: most of it lies near 0, and f changes on a scale of 1 at least.
template <class F>
inline double integrate(const SlopeNodes& nodes, double length, F&& f) {
  const double bounds[] = {0, length / 8, 3 * length / 8, length};
  double sum = 0;
  for (int part = 0; part < 3; ++part) {
    const int panels = std::max(1, static_cast<int>(std::ceil((bounds[part + 1] - bounds[part]) / 5)));
    const double width = (bounds[part + 1] - bounds[part]) / panels;
    for (int panel = 0; panel < panels; ++panel)
      for (int i = 0; i < kSlopePoints; ++i)
        sum += width * nodes.weight[i] * f(bounds[part] + (panel + nodes.at[i]) * width);
  }
  return sum;
}

/// Where a convex function from 0 on reaches kDrop, or a little beyond; `fall` gives its value and slope. At 0 it has
/// this slope and curvature.
template <class F>
inline double reach(double slope, double curvature, F&& fall) {
  double u = 2 * kDrop / (slope + std::sqrt(slope * slope + 2 * kDrop * curvature));
  for (int step = 0; step < 5; ++step) {  // Newton's method: from the second step on from the right
    const auto [value, rise] = fall(u);
    if (!(rise > 0) || !(std::fabs(value) < kInfinity)) break;
    u += (kDrop - value) / rise;
  }
  return u;
}

struct Fall {
  double value, slope;
};

// ---- Gamma

/// The series is faster than an integral below this shape, and loses few digits up to so far above it: a distance, or
/// standard deviations.
inline constexpr double kSeriesShape = 1000;
struct Series {
  double reach, deviations;
  double precision;  ///< of the last term
};
inline constexpr Series kOfDoubles = {6, 2, 1e-17}, kOfFloats = {12, 3.5, 1e-14};
/// From here on three terms of an expansion around the normal distribution are exact to 1e-12.
inline constexpr double kNormalShape = 1e8;

inline bool is_for_series(const Series& series, double a, double x) {
  if (!(a > 0 && x > 0)) return false;
  return x < 2 || (a < kSeriesShape && x < a + std::max(series.reach, series.deviations * std::sqrt(a)));
}

/// dx/da of a gamma number x of shape a, without the series.
inline double gamma_slope(const SlopeNodes& nodes, double a, double x) {
  if (a != a || x != x || a < 0 || x == kInfinity) return kNaN;
  if (x <= 0 || a == 0) return 0;
  if (a > kNormalShape) {  // x = a + z sqrt(a) + (z^2 - 1) / 3 + ..., of a standard normal z
    const double distance = x - a;
    return 1 + distance / (2 * a) - (distance * distance / a - 1) / (6 * a);
  }
  const double side = x < a ? -1 : 1;  // the logarithm of the number plus side * u, u from 0 on
  const auto fall = [=](double u) {
    const double grown = std::expm1(side * u);
    return Fall{x * grown - a * side * u, side * (x * (grown + 1) - a)};
  };
  const double length = reach(std::fabs(x - a), x, fall), center = std::log(x) - fn::digamma(a);
  return side * x * integrate(nodes, length, [=](double u) { return (center + side * u) * std::exp(-fall(u).value); });
}

// ---- Beta

/// log(1 / (1 + exp(-v)))
inline double log_sigmoid(double v) { return v < 0 ? v - std::log1p(std::exp(v)) : -std::log1p(std::exp(-v)); }

/// dx/da / (1 - x) of a beta number x with parameters a and b.
inline double beta_slope(const SlopeNodes& nodes, double x, double a, double b) {
  if (x != x || !(a >= 0) || !(b >= 0)) return kNaN;
  if (x <= 0 || a == 0) return 0;
  const double center = fn::digamma(a + b) - fn::digamma(a);
  if (x >= 1 || b == 0) return center / b;
  const double start = std::log(x) - std::log1p(-x);
  const double mean = a / (a + b), side = x < mean ? -1 : 1;
  // The logarithms of t and 1 - t relative to those of x and 1 - x, in which little cancels.
  const auto fall = [=](double u) {
    const double t = 1 / (1 + std::exp(-start - side * u));
    const double value = a * std::log1p((1 - x) * std::expm1(-side * u)) + b * std::log1p(x * std::expm1(side * u));
    return Fall{value, side * ((a + b) * t - a)};
  };
  // Beyond, the density is one power, and the rest of the integral known.
  const double pure = std::max(0.0, kDrop - side * start);
  const double length = reach(std::fabs((a + b) * x - a), (a + b) * x * (1 - x), fall), cut = std::min(length, pure);
  double sum = integrate(nodes, cut,
                         [=](double u) { return (center + log_sigmoid(start + side * u)) * std::exp(-fall(u).value); });
  if (length > pure) {
    const double rate = side < 0 ? a : b, rest = side < 0 ? center + start - pure - 1 / rate : center;
    sum += rest / rate * std::exp(-fall(pure).value);
  }
  return side * x * sum;
}

}  // namespace adjoint::cpu
