// One row of layer normalisation, with the widest vectors that the processor has.
#pragma once

#include <cstdint>

namespace adjoint::cpu {

/// Mean (0 unless centered) and mean squared distance from it, of n > 0 elements.
template <class A>
struct Moments {
  A center;
  A variance;
};

/// Where the gradients of a row go; null for those that nobody asked for.
template <class A>
struct RowGradients {
  A* weight_sum;  ///< the row's part is added
  A* bias_sum;    ///< the row's part is added
  A* input;       ///< may be the row itself or its gradient
};

#define ADJOINT_DECLARE_ROWS(A)                                                                                     \
  Moments<A> moments_of_row(const A* x, int64_t n, bool centered);                                                  \
  /** y = (x - center) * scale * factor + term; y may be x. */                                                      \
  void normalize_row(const A* x, int64_t n, A center, A scale, const A* factor, const A* term, A* y);               \
  void normalize_row_backward(const A* g, const A* x, int64_t n, A center, A scale, const A* factor, bool centered, \
                              const RowGradients<A>& to);
ADJOINT_DECLARE_ROWS(float)
ADJOINT_DECLARE_ROWS(double)
#undef ADJOINT_DECLARE_ROWS

}  // namespace adjoint::cpu
