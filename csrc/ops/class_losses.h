// Losses of scores for classes that a target names.
#pragma once

#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "core/ints.h"
#include "core/tensor.h"

namespace adjoint::ops {

/// The negated elements of `input` (N, C, ...) at the classes that `target` (N, ...) names, weighted by class and
/// reduced ("none", "sum", "mean"), and the sum of the weights. Targets equal to `ignore_index` do not count.
std::pair<TensorPtr, TensorPtr> nll_loss(Tensor* input, Tensor* target, std::optional<Tensor*> weight,
                                         int64_t ignore_index, const std::string& reduction);
/// Its gradient in an input of these sizes.
TensorPtr nll_loss_backward(Tensor* grad, const Ints& size, Tensor* target, std::optional<Tensor*> weight,
                            int64_t ignore_index, const std::string& reduction, Tensor* total_weight);

/// The same of the log_softmax of an input (N, C), which is never written; as floats where `wide` is asked for. Third:
/// what its gradient needs to know of each row, two numbers.
std::tuple<TensorPtr, TensorPtr, TensorPtr> cross_entropy(Tensor* input, Tensor* target, std::optional<Tensor*> weight,
                                                          int64_t ignore_index, const std::string& reduction,
                                                          bool wide);
/// Its gradient in the input.
TensorPtr cross_entropy_gradient(Tensor* grad, Tensor* input, Tensor* target, std::optional<Tensor*> weight,
                                 int64_t ignore_index, const std::string& reduction, Tensor* total_weight,
                                 Tensor* sums);
/// Whether cross_entropy is the faster way for this input.
bool prefers_cross_entropy(const Tensor* input);

}  // namespace adjoint::ops
