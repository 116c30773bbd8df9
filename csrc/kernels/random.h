// Random numbers. Fills go in the order in which the elements lie in memory, and check what they are given before the
// first draw; other arguments are packed.
#pragma once

#include "core/generator.h"
#include "core/view.h"

namespace adjoint::kernels {

struct Random {
  /// From [low, high). Complex elements are pairs of real numbers.
  void (*uniform)(Generator& generator, const View& out, double low, double high);
  /// Complex elements are pairs of real numbers, each part with half of the variance.
  void (*normal)(Generator& generator, const View& out, double mean, double std);
  /// Whole numbers from [low, high), from low up to the greatest of the type, and all from 0 on.
  void (*integers)(Generator& generator, const View& out, int64_t low, int64_t high);
  void (*integers_from)(Generator& generator, const View& out, int64_t low);
  void (*all_integers)(Generator& generator, const View& out);
  /// One with probability p, else zero; with a probability for each element, in a view of the same sizes.
  void (*bernoulli)(Generator& generator, const View& out, double p);
  void (*bernoulli_each)(Generator& generator, const View& out, const View& p);
  void (*exponential)(Generator& generator, const View& out, double lambda);
  void (*geometric)(Generator& generator, const View& out, double p);
  void (*log_normal)(Generator& generator, const View& out, double mean, double std);
  void (*cauchy)(Generator& generator, const View& out, double median, double sigma);
  /// 0 ... n - 1 in some order, as packed Int64.
  void (*permutation)(Generator& generator, const View& out);
  /// Packed doubles: each rate becomes a count of events ...
  void (*poisson)(Generator& generator, const View& rates);
  /// ... and each number of trials a count of successes, which have these chances.
  void (*binomial)(Generator& generator, const View& counts, const View& chances);
  /// Packed Float32 or Float64: each shape becomes a gamma number of rate 1.
  void (*gamma)(Generator& generator, const View& shapes);
  /// Packed doubles, in rows of this length: each becomes its share in the row's sum, rounded to `type` (Float32 or
  /// Float64) and kept inside of (0, 1).
  void (*shares)(const View& numbers, int64_t length, DType type);
  /// Packed doubles become the derivatives by them of the gamma numbers in `draws`, whose type says how exact ...
  void (*gamma_slopes)(const View& shapes, const View& draws);
  /// ... and each beta number the derivative by its first parameter, divided by 1 - number; the second makes the total.
  void (*beta_slopes)(const View& draws, const View& firsts, const View& totals);
  /// Whether some element is below zero.
  bool (*has_negative)(const View& values);
};

}  // namespace adjoint::kernels
