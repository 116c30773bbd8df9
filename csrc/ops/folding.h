// Sliding windows of images as columns, and their sums back into images.
#pragma once

#include "core/ints.h"
#include "core/tensor.h"

namespace adjoint::ops {

/// [batch, channels, height, width] -> [batch, channels * window, windows]; the batch may be missing.
TensorPtr im2col(Tensor* input, const Ints& kernel_size, const Ints& dilation, const Ints& padding, const Ints& stride);
/// The transpose of im2col: overlapping elements are added.
TensorPtr col2im(Tensor* input, const Ints& output_size, const Ints& kernel_size, const Ints& dilation,
                 const Ints& padding, const Ints& stride);

}  // namespace adjoint::ops
