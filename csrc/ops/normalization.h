// Layer normalisation over the last dimensions of a tensor, and the fused gradients of its input and weight.
#pragma once

#include <optional>
#include <tuple>

#include "core/tensor.h"
#include "python/arg.h"

namespace adjoint::ops {

/// (normalised, mean, 1 / standard deviation); the latter two have size 1 in the dimensions of `normalized_shape`.
std::tuple<TensorPtr, TensorPtr, TensorPtr> layer_norm(Tensor* input, const python::Ints& normalized_shape,
                                                       std::optional<Tensor*> weight, std::optional<Tensor*> bias,
                                                       double eps);
/// `eps` is what the forward used: the gradient's own derivatives need it.
TensorPtr layer_norm_input_grad(Tensor* grad, Tensor* input, Tensor* mean, Tensor* rstd, std::optional<Tensor*> weight,
                                const python::Ints& normalized_shape, double eps);
TensorPtr layer_norm_weight_grad(Tensor* grad, Tensor* input, Tensor* mean, Tensor* rstd,
                                 const python::Ints& normalized_shape, double eps);

}  // namespace adjoint::ops
