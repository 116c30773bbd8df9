// Attention of several heads in one pass, and its gradients.
#pragma once

#include <tuple>
#include <utility>

#include "core/tensor.h"

namespace adjoint::ops {

/// (softmax(query key' scale) value, the logarithms of the sums of the exponentials of the scores) for tensors of
/// (batch, heads, rows, size) with one batch, number of heads and size, of which none is 0.
std::pair<TensorPtr, TensorPtr> attention(Tensor* query, Tensor* key, Tensor* value, double scale, bool is_causal);
/// The gradients of query, key and value at once.
std::tuple<TensorPtr, TensorPtr, TensorPtr> attention_gradients(Tensor* grad, Tensor* query, Tensor* key, Tensor* value,
                                                                Tensor* out, Tensor* logsumexp, double scale,
                                                                bool is_causal);

}  // namespace adjoint::ops
