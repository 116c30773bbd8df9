// One row of layer normalisation. See Note [Instruction sets] in cpu/isa.h.
#pragma once

#include <cstdint>

#include "cpu/isa.h"

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

/// Of float or double.
template <class A>
struct NormalizeLoops {
  Moments<A> (*moments)(const A* x, int64_t n, bool centered);
  /// y = (x - center) * scale * factor + term; y may be x.
  void (*normalize)(const A* x, int64_t n, A center, A scale, const A* factor, const A* term, A* y);
  /// gin = scale * (gw - mean(gw) - normal * mean(gw * normal)), gw = g * factor, normal = (x - center) * scale.
  void (*backward)(const A* g, const A* x, int64_t n, A center, A scale, const A* factor, bool centered,
                   const RowGradients<A>& to);

  template <Isa>
  static NormalizeLoops compiled();
};

}  // namespace adjoint::cpu
