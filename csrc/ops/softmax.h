// Softmax and its logarithm along one dimension, and their gradients.
#pragma once

#include <optional>

#include "core/tensor.h"

namespace adjoint::ops {

/// Without `dim` the one that old code means is taken, with a warning. The stack level is there for the signature's
/// sake.
TensorPtr softmax(Tensor* input, std::optional<int64_t> dim, std::optional<DType> dtype, int64_t stack_level);
TensorPtr log_softmax(Tensor* input, std::optional<int64_t> dim, std::optional<DType> dtype, int64_t stack_level);
TensorPtr softmax_backward(Tensor* grad, Tensor* output, int64_t dim);
TensorPtr log_softmax_backward(Tensor* grad, Tensor* output, int64_t dim);

}  // namespace adjoint::ops
