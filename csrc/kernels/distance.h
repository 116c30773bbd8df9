// Products and distances of vectors that are no matrix products.
#pragma once

#include "core/view.h"

namespace adjoint::kernels {

struct Distance {
  /// The cross product over the dimension `axis` of three elements, of views of one type and one shape.
  void (*cross)(const View& a, const View& b, const View& out, int axis);

  // p-norms of differences. All views are contiguous, of float or double.

  /// Of all pairs of rows: x1 is (batch, n, d), x2 (batch, m, d), `out` (batch, n, m).
  void (*cdist)(const View& x1, const View& x2, double p, const View& out);
  /// The gradient of x1, for the distances `out` and their gradient.
  void (*cdist_backward)(const View& grad, const View& x1, const View& x2, double p, const View& out, const View& gin);
  /// Of each pair of rows of one matrix, the first row's first.
  void (*pdist)(const View& in, double p, const View& out);
  void (*pdist_backward)(const View& grad, const View& in, double p, const View& out, const View& gin);
};

}  // namespace adjoint::kernels
