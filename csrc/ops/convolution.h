// Convolutions and transposed convolutions in one to three dimensions, and the gradient of their weight.
#pragma once

#include <optional>

#include "core/ints.h"
#include "core/tensor.h"

namespace adjoint::ops {

/// input [batch, channels, sizes...]; weight [out channels, in channels / groups, kernel...], or, transposed, [in
/// channels, out channels / groups, kernel...]. Lists of one number count for every dimension.
TensorPtr convolution(Tensor* input, Tensor* weight, std::optional<Tensor*> bias, const Ints& stride,
                      const Ints& padding, const Ints& dilation, bool transposed, const Ints& output_padding,
                      int64_t groups);
/// The gradient of the weight of a convolution that is not transposed: sums of products of `grad`, which has the size
/// of its result, and its input. Bilinear: neither is conjugated.
TensorPtr convolution_weight(Tensor* grad, Tensor* input, const Ints& kernel, const Ints& stride, const Ints& padding,
                             const Ints& dilation, int64_t groups);

}  // namespace adjoint::ops
