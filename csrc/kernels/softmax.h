// Softmax along one dimension and its fused backward. All views have one shape; 0-d counts as one element.
#pragma once

#include "core/view.h"

namespace adjoint::kernels {

struct Softmax {
  using Along = void(const View& in, const View& out, int dim);
  using Gradient = void(const View& g, const View& out, const View& gin, int dim);

  /// `out` is floating; the input is converted to it. Half types are computed in float.
  Along* softmax;
  Along* log_softmax;
  /// gin = out * (g - sum(g * out)), for the result `out` of softmax.
  Gradient* softmax_backward;
  /// gin = g - exp(out) * sum(g), for the result `out` of log_softmax.
  Gradient* log_softmax_backward;
};

}  // namespace adjoint::kernels
