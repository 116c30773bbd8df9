// The derivatives of gamma and beta numbers by their parameters, one of each thread.
#pragma once

#include "cpu/slopes.h"
#include "kernel.h"
#include "slopes_args.h"

namespace adjoint::cuda {

/// digamma(z) - log(z) of z above 14.
inline double digamma_rest(double z) {
  const double inverse = 1 / z, square = inverse * inverse;
  return -inverse / 2 -
         square * (1. / 12 -
                   square * (1. / 120 -
                             square * (1. / 252 - square * (1. / 240 - square * (1. / 132 - square * 691. / 32760)))));
}

/// The series of cpu/random_slopes_isa.cpp: terms are added until they are below `precision` of the sum.
inline double gamma_series(double a, double x, double precision) {
  double term = 1, sum = 1, inverses = 0, slope = 0;
  int n = 1;
  for (; n < 1000 && (n <= 14 || !(term * inverses < precision * sum)); ++n) {
    const double inverse = 1 / (a + n);
    term *= x * inverse;
    inverses += inverse;
    sum += term;
    slope -= term * inverses;
  }
  const double last = a + n, center = std::log(x) - std::log(last) - digamma_rest(last) + inverses;
  return -(x / a) * (sum * center + slope);
}

template <class T>
inline void gamma_slopes(const SlopeArgs& args) {
  const int64_t i = thread_number<int64_t>();
  if (i >= args.n) return;
  const cpu::Series series = sizeof(T) == 4 ? cpu::kOfFloats : cpu::kOfDoubles;
  const double a = args.out[i], x = static_cast<double>(reinterpret_cast<const T*>(args.first)[i]);
  args.out[i] =
      cpu::is_for_series(series, a, x) ? gamma_series(a, x, series.precision) : cpu::gamma_slope(args.nodes, a, x);
}

inline void beta_slopes(const SlopeArgs& args) {
  const int64_t i = thread_number<int64_t>();
  if (i >= args.n) return;
  const double a = reinterpret_cast<const double*>(args.first)[i];
  args.out[i] = cpu::beta_slope(args.nodes, args.out[i], a, args.second[i] - a);
}

}  // namespace adjoint::cuda
