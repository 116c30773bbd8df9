// Convolutions and transposed convolutions in one to three dimensions, and the gradient of their weight.
#pragma once

#include <optional>

#include "core/tensor.h"
#include "python/arg.h"

namespace adjoint::ops {

/// input [batch, channels, sizes...]; weight [out channels, in channels / groups, kernel...], or, transposed, [in
/// channels, out channels / groups, kernel...]. Lists of one number count for every dimension.
TensorPtr convolution(Tensor* input, Tensor* weight, std::optional<Tensor*> bias, const python::Ints& stride,
                      const python::Ints& padding, const python::Ints& dilation, bool transposed,
                      const python::Ints& output_padding, int64_t groups);
/// The gradient of the weight of a convolution that is not transposed: sums of products of `grad`, which has the size
/// of its result, and its input. Bilinear: neither is conjugated.
TensorPtr convolution_weight(Tensor* grad, Tensor* input, const python::Ints& kernel, const python::Ints& stride,
                             const python::Ints& padding, const python::Ints& dilation, int64_t groups);

}  // namespace adjoint::ops
