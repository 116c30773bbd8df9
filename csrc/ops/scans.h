// Ops along one dimension that keep the shape: running sums and products, recurrences, softmax.
#pragma once

#include <optional>
#include <utility>

#include "core/tensor.h"

namespace adjoint::ops {

TensorPtr cumsum(Tensor* input, int64_t dim, std::optional<DType> dtype);
/// out[i] = in[i] + in[i + 1] + ...
TensorPtr reverse_cumsum(Tensor* input, int64_t dim);
TensorPtr cumprod(Tensor* input, int64_t dim, std::optional<DType> dtype);
TensorPtr logcumsumexp(Tensor* input, int64_t dim);
std::pair<TensorPtr, TensorPtr> cummax(Tensor* input, int64_t dim);
std::pair<TensorPtr, TensorPtr> cummin(Tensor* input, int64_t dim);

/// The recurrence out[i] = in[i] + weight[i] * out[i - 1], or in reverse out[i] = in[i] + weight[i + 1] * out[i + 1]:
/// the two are each other's transpose.
TensorPtr linear_recurrence(Tensor* input, Tensor* weight, int64_t dim, bool reverse);

/// Without `dim` the one that old code means is taken, with a warning. The stack level is there for the signature's
/// sake.
TensorPtr softmax(Tensor* input, std::optional<int64_t> dim, std::optional<DType> dtype, int64_t stack_level);
TensorPtr log_softmax(Tensor* input, std::optional<int64_t> dim, std::optional<DType> dtype, int64_t stack_level);
TensorPtr softmax_backward(Tensor* grad, Tensor* output, int64_t dim);
TensorPtr log_softmax_backward(Tensor* grad, Tensor* output, int64_t dim);

}  // namespace adjoint::ops
