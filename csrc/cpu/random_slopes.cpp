// The derivatives of gamma and beta numbers by their parameters: see cpu/slopes.h.
#include <algorithm>

#include "cpu/parallel.h"
#include "cpu/random_slopes_isa.h"
#include "cpu/random_views.h"
#include "cpu/slopes.h"

namespace adjoint::cpu {
namespace {

const SlopeNodes& nodes() {
  static const SlopeNodes made = legendre_nodes<kSlopePoints>();
  return made;
}

/// How many integrals are worth a thread.
constexpr int64_t kGrain = 64;

/// Those that have a series are collected, and computed together.
template <class T>
void fill_gamma_slopes(double* shapes, const T* draws, const Series& series, int64_t begin, int64_t end) {
  constexpr int64_t block = 256;
  double a[block], x[block], slopes[block];
  int64_t place[block];
  for (int64_t start = begin; start < end; start += block) {
    const int64_t stop = std::min(start + block, end);
    int64_t collected = 0;
    for (int64_t i = start; i < stop; ++i) {
      a[collected] = shapes[i];
      x[collected] = draws[i];
      place[collected] = i;
      if (is_for_series(series, a[collected], x[collected]))
        ++collected;
      else
        shapes[i] = gamma_slope(nodes(), shapes[i], draws[i]);
    }
    chosen<SlopeLoops>.gamma_series(a, x, series.precision, slopes, collected);
    for (int64_t k = 0; k < collected; ++k) shapes[place[k]] = slopes[k];
  }
}

}  // namespace

void gamma_slopes(const View& shapes, const View& draws) {
  double* a = shapes.as<double>();
  parallel_for(shapes.numel(), kGrain, [&](int64_t begin, int64_t end) {
    if (draws.dtype == DType::Float32) return fill_gamma_slopes(a, draws.as<float>(), kOfFloats, begin, end);
    fill_gamma_slopes(a, draws.as<double>(), kOfDoubles, begin, end);
  });
}

void beta_slopes(const View& draws, const View& firsts, const View& totals) {
  double* x = draws.as<double>();
  const double *a = firsts.as<double>(), *total = totals.as<double>();
  parallel_for(draws.numel(), kGrain, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) x[i] = beta_slope(nodes(), x[i], a[i], total[i] - a[i]);
  });
}

}  // namespace adjoint::cpu
