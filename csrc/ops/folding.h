// Sliding windows of images as columns, and their sums back into images.
#pragma once

#include "core/tensor.h"
#include "python/arg.h"

namespace adjoint::ops {

/// [batch, channels, height, width] -> [batch, channels * window, windows]; the batch may be missing.
TensorPtr im2col(Tensor* input, const python::Ints& kernel_size, const python::Ints& dilation,
                 const python::Ints& padding, const python::Ints& stride);
/// The transpose of im2col: overlapping elements are added.
TensorPtr col2im(Tensor* input, const python::Ints& output_size, const python::Ints& kernel_size,
                 const python::Ints& dilation, const python::Ints& padding, const python::Ints& stride);

}  // namespace adjoint::ops
