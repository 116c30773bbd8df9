// Normalisation by channels: statistics of each channel over a batch, or of groups of channels in each sample.
#pragma once

#include <optional>
#include <tuple>

#include "core/tensor.h"

namespace adjoint::ops {

// `groups` is the number of groups of channels in each sample; 0 means that a channel's statistics are those of the
// whole batch. Inputs have samples in the first dimension and channels in the second. Weights and biases, which may be
// missing, have an element for each channel; means and deviations one for each channel or, as (samples, groups), one
// for each group.

/// (normalised, mean, 1 / standard deviation). The running statistics, where given, move by `momentum` towards those of
/// the batch.
std::tuple<TensorPtr, TensorPtr, TensorPtr> plane_norm(Tensor* input, std::optional<Tensor*> weight,
                                                       std::optional<Tensor*> bias, std::optional<Tensor*> running_mean,
                                                       std::optional<Tensor*> running_var, int64_t groups,
                                                       double momentum, double eps);
/// `eps` is what the forward used: the gradient's own derivatives need it.
TensorPtr plane_norm_input_grad(Tensor* grad, Tensor* input, Tensor* mean, Tensor* rstd, std::optional<Tensor*> weight,
                                int64_t groups, double eps);
TensorPtr plane_norm_weight_grad(Tensor* grad, Tensor* input, Tensor* mean, Tensor* rstd, int64_t groups, double eps);
/// The gradients of the input, the weight and the bias at once.
std::tuple<TensorPtr, TensorPtr, TensorPtr> plane_norm_gradients(Tensor* grad, Tensor* input, Tensor* mean,
                                                                 Tensor* rstd, std::optional<Tensor*> weight,
                                                                 int64_t groups);
/// By statistics of the channels that are given, not computed; and the gradients of input, weight and bias for these.
TensorPtr plane_norm_fixed(Tensor* input, std::optional<Tensor*> weight, std::optional<Tensor*> bias, Tensor* mean,
                           Tensor* var, double eps);
std::tuple<TensorPtr, TensorPtr, TensorPtr> plane_norm_fixed_gradients(Tensor* grad, Tensor* input,
                                                                       std::optional<Tensor*> weight, Tensor* mean,
                                                                       Tensor* var, double eps);

}  // namespace adjoint::ops
