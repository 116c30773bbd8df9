// Ops along one dimension that keep the shape: running sums, products and extremes, recurrences.
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

}  // namespace adjoint::ops
