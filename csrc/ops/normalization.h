// Layer and rms normalisation over the last dimensions of a tensor, and their fused gradients.
#pragma once

#include <optional>
#include <tuple>

#include "core/ints.h"
#include "core/tensor.h"

namespace adjoint::ops {

/// (normalised, mean, 1 / standard deviation); the latter two have size 1 in the dimensions of `normalized_shape`.
std::tuple<TensorPtr, TensorPtr, TensorPtr> layer_norm(Tensor* input, const Ints& normalized_shape,
                                                       std::optional<Tensor*> weight, std::optional<Tensor*> bias,
                                                       double eps);
/// `eps` is what the forward used: the gradient's own derivatives need it.
TensorPtr layer_norm_input_grad(Tensor* grad, Tensor* input, Tensor* mean, Tensor* rstd, std::optional<Tensor*> weight,
                                const Ints& normalized_shape, double eps);
TensorPtr layer_norm_weight_grad(Tensor* grad, Tensor* input, Tensor* mean, Tensor* rstd, const Ints& normalized_shape,
                                 double eps);
/// The gradients of the input, the weight and the bias at once.
std::tuple<TensorPtr, TensorPtr, TensorPtr> layer_norm_gradients(Tensor* grad, Tensor* input, Tensor* mean,
                                                                 Tensor* rstd, std::optional<Tensor*> weight,
                                                                 const Ints& normalized_shape);

/// (the input over the root of its mean square, 1 / that root)
std::pair<TensorPtr, TensorPtr> rms_norm(Tensor* input, const Ints& normalized_shape, std::optional<Tensor*> weight,
                                         double eps);
std::pair<TensorPtr, TensorPtr> rms_norm_gradients(Tensor* grad, Tensor* input, Tensor* rstd,
                                                   std::optional<Tensor*> weight, const Ints& normalized_shape);

}  // namespace adjoint::ops
