// Counts of random events, by the methods that torch uses, so that the same draws give the same counts.
//
// Rare events are counted one by one; many are drawn by transformed rejection (W. Hörmann, 1993: PTRS and BTRS), which
// takes two uniform numbers for a candidate and keeps most of them.
#include <cmath>
#include <limits>

#include "core/error.h"
#include "cpu/random.h"
#include "cpu/random_draws.h"

namespace adjoint {
namespace {

/// From so many expected events on, candidates are drawn and rejected.
constexpr double kMany = 10;

double uniform(Generator& generator) { return static_cast<double>(draw_pair(generator) & kMask53) * 0x1p-53; }

double poisson(Generator& generator, double rate) {
  if (rate == 0 || std::isinf(rate)) return rate;
  if (rate < kMany) {
    const double limit = std::exp(-rate);
    double product = uniform(generator), count = 0;
    for (; product > limit; product *= uniform(generator)) ++count;
    return count;
  }
  const double log_rate = std::log(rate);
  const double b = 0.931 + 2.53 * std::sqrt(rate), a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), always = 0.9277 - 3.6224 / (b - 2);
  while (true) {
    const double u = uniform(generator) - 0.5, v = uniform(generator), distance = 0.5 - std::fabs(u);
    const double count = std::floor((2 * a / distance + b) * u + rate + 0.43);
    if (distance >= 0.07 && v <= always) return count;
    if (count < 0 || (distance < 0.013 && v > distance)) continue;
    const double height = std::log(v) + std::log(inverse_alpha) - std::log(a / (distance * distance) + b);
    if (height <= count * log_rate - rate - std::lgamma(count + 1)) return count;
  }
}

/// log(k!) beyond Stirling's formula.
double stirling_rest(double k) {
  static constexpr double kFirst[] = {0.0810614667953272,  0.0413406959554092, 0.0276779256849983, 0.02079067210376509,
                                      0.0166446911898211,  0.0138761288230707, 0.0118967099458917, 0.0104112652619720,
                                      0.00925546218271273, 0.00833056343336287};
  if (k <= 9) return kFirst[static_cast<int>(k)];
  const double square = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

/// The successes of n trials from the gaps between them, which are geometric.
double binomial_by_gaps(Generator& generator, double n, double p) {
  const double log_failure = std::log1p(-p);
  double trials = 0;
  for (double count = 0;; ++count) {
    trials += std::ceil(std::log(uniform(generator)) / log_failure);
    if (trials > n) return count;
  }
}

double binomial_by_rejection(Generator& generator, double n, double p) {
  const double deviation = std::sqrt(n * p * (1 - p)), odds = p / (1 - p), mode = std::floor((n + 1) * p);
  const double b = 1.15 + 2.53 * deviation, a = -0.0873 + 0.0248 * b + 0.01 * p, center = n * p + 0.5;
  const double always = 0.92 - 4.2 / b, alpha = (2.83 + 5.1 / b) * deviation;
  while (true) {
    const double u = uniform(generator) - 0.5, v = uniform(generator), distance = 0.5 - std::fabs(u);
    const double k = std::floor((2 * a / distance + b) * u + center);
    if (distance >= 0.07 && v <= always) return k;
    if (k < 0 || k > n) continue;
    const double height = std::log(v * alpha / (a / (distance * distance) + b));
    const double bound = (mode + 0.5) * std::log((mode + 1) / (odds * (n - mode + 1))) +
                         (n + 1) * std::log((n - mode + 1) / (n - k + 1)) +
                         (k + 0.5) * std::log(odds * (n - k + 1) / (k + 1)) + stirling_rest(mode) +
                         stirling_rest(n - mode) - stirling_rest(k) - stirling_rest(n - k);
    if (height <= bound) return k;
  }
}

double binomial(Generator& generator, double n, double p) {
  if (std::isnan(p)) return p;
  if (n <= 0 || p <= 0) return 0;
  if (!std::isfinite(n) || p >= 1) return n;
  const double rarer = p <= 0.5 ? p : 1 - p;
  const double count =
      n * rarer >= kMany ? binomial_by_rejection(generator, n, rarer) : binomial_by_gaps(generator, n, rarer);
  return p <= 0.5 ? count : n - count;
}

}  // namespace

void fill_poisson(Generator& generator, double* rates, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    if (!(rates[i] >= 0)) {
      fail("invalid Poisson rate, expected rate to be non-negative; got ", rates[i], "; pass the expected counts");
    }
  }
  std::lock_guard lock(generator.mutex());
  for (int64_t i = 0; i < n; ++i) rates[i] = poisson(generator, rates[i]);
}

void fill_binomial(Generator& generator, double* counts, const double* chances, int64_t n) {
  std::lock_guard lock(generator.mutex());
  for (int64_t i = 0; i < n; ++i) counts[i] = binomial(generator, counts[i], chances[i]);
}

}  // namespace adjoint
