#include "cpu/random_slopes_isa.h"

#include <cmath>

#include "cpu/vector_math.h"

ADJOINT_VECTOR_UNARY(log)

namespace adjoint::cpu {
namespace {

/// Series that run beside one another.
constexpr int64_t kLanes = 16;
/// As many terms at least: the digamma function at the end of them is its asymptotic expansion.
constexpr int kLeast = 14, kMost = 1000;

/// digamma(z) - log(z) of z above kLeast.
[[gnu::always_inline]] inline double digamma_rest(double z) {
  const double inverse = 1 / z, square = inverse * inverse;
  return -inverse / 2 -
         square * (1. / 12 -
                   square * (1. / 120 -
                             square * (1. / 252 - square * (1. / 240 - square * (1. / 132 - square * 691. / 32760)))));
}

/// F = x^a exp(-x) / Gamma(a + 1) * sum, and dx/da = -(x / a) (sum * (log(x) - digamma(a + 1)) + d(sum)/da). The
/// inverses that the terms are made of add up to digamma(a + n + 1) - digamma(a + 1).
void series_of_lanes(const double* a, const double* x, double precision, double* out) {
  double term[kLanes], sum[kLanes], inverses[kLanes], slope[kLanes], last[kLanes];
  for (int64_t i = 0; i < kLanes; ++i) {
    term[i] = sum[i] = 1;
    inverses[i] = slope[i] = 0;
  }
  int n = 1;
  for (bool open = true; open && n < kMost;) {
    for (int step = 0; step < 2; ++step, ++n) {
      for (int64_t i = 0; i < kLanes; ++i) {
        const double inverse = 1 / (a[i] + n);
        term[i] *= x[i] * inverse;
        inverses[i] += inverse;
        sum[i] += term[i];
        slope[i] -= term[i] * inverses[i];
      }
    }
    int below = 0;
    for (int64_t i = 0; i < kLanes; ++i) below += term[i] * inverses[i] < precision * sum[i];
    open = n <= kLeast || below < kLanes;
  }
  for (int64_t i = 0; i < kLanes; ++i) last[i] = a[i] + n;
  for (int64_t i = 0; i < kLanes; ++i) out[i] = log(x[i]) - log(last[i]);
  for (int64_t i = 0; i < kLanes; ++i) {
    const double center = out[i] - digamma_rest(last[i]) + inverses[i];  // log(x) - digamma(a + 1)
    out[i] = -(x[i] / a[i]) * (sum[i] * center + slope[i]);
  }
}

void gamma_series(const double* a, const double* x, double precision, double* out, int64_t n) {
  for (; n >= kLanes; n -= kLanes, a += kLanes, x += kLanes, out += kLanes) series_of_lanes(a, x, precision, out);
  if (n == 0) return;
  double shapes[kLanes], draws[kLanes], slopes[kLanes];
  for (int64_t i = 0; i < kLanes; ++i) {
    shapes[i] = a[i < n ? i : 0];
    draws[i] = x[i < n ? i : 0];
  }
  series_of_lanes(shapes, draws, precision, slopes);
  for (int64_t i = 0; i < n; ++i) out[i] = slopes[i];
}

constexpr SlopeLoops kLoops = {.gamma_series = gamma_series};

}  // namespace

template <Isa>
SlopeLoops SlopeLoops::compiled() {
  return kLoops;
}
template SlopeLoops SlopeLoops::compiled<kIsa>();

}  // namespace adjoint::cpu
