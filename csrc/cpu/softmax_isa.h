// The loops of softmax and its relatives: exponentials of rows. See Note [Instruction sets] in cpu/isa.h.
#pragma once

#include <cstdint>

#include "cpu/isa.h"

namespace adjoint::cpu {

/// Rows up to this length have loops of their own.
inline constexpr int64_t kShortSoftmax = 64;

/// Of float or double. Where x is read and y written, y may be x.
template <class A>
struct SoftmaxLoops {
  /// y[i] = exp(x[i] - shift)
  void (*exp_shifted)(const A* x, A shift, A* y, int64_t n);
  /// y[i] = exp(x[i] - shift[i])
  void (*exp_shifted_each)(const A* x, const A* shift, A* y, int64_t n);
  /// y[i] = x[i] - exp(exponent[i]) * factor
  void (*subtract_exps)(const A* x, const A* exponent, A factor, A* y, int64_t n);
  /// y[i] = x[i] - first - second
  void (*subtract)(const A* x, A first, A second, A* y, int64_t n);
  /// y[i] = x[i] - first[i] - second[i]
  void (*subtract_each)(const A* x, const A* first, const A* second, A* y, int64_t n);
  /// total[i] += x[i]
  void (*accumulate)(const A* x, double* total, int64_t n);
  /// Softmax, or its logarithm, of packed rows of n <= kShortSoftmax elements; then their backward.
  void (*short_forward)(const A* x, A* y, int64_t rows, int64_t n, bool log);
  void (*short_backward)(const A* g, const A* result, A* y, int64_t rows, int64_t n, bool log);

  template <Isa>
  static SoftmaxLoops compiled();
};

}  // namespace adjoint::cpu
