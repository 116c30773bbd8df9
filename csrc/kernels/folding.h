// Windows of planes as columns of a matrix, and sums of columns back into planes. All views are packed.
#pragma once

#include "core/view.h"

namespace adjoint::kernels {

/// Planes [planes, height, width] and columns [planes, kernel rows, kernel columns, rows, columns].
struct FoldShape {
  int64_t planes, size[2], kernel[2], stride[2], padding[2], dilation[2], blocks[2];
};

struct Folding {
  using Fold = void(const FoldShape& shape, const View& in, const View& out);

  /// Planes to columns. Elements of any type are copied; zeros where a window reaches over the edge.
  Fold* unfold;
  /// Columns to planes; elements are Float32, Float64 or complex.
  Fold* fold;
};

}  // namespace adjoint::kernels
