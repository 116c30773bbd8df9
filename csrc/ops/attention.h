// Attention of several heads in one pass, and its gradients.
#pragma once

#include <optional>
#include <tuple>
#include <utility>

#include "core/tensor.h"

namespace adjoint::ops {

/// (softmax(query key' scale + mask) value, the logarithms of the sums of the exponentials of the scores) for tensors
/// of (batch, heads, rows, size) with one batch, number of heads and size, of which none is 0. Where takes_extras()
/// says so there may be a `mask` of (batch, heads, rows, keys), of bools or numbers to add, and with the two integers
/// of `draws` weights are dropped with the probability `dropped`.
std::pair<TensorPtr, TensorPtr> attention(Tensor* query, Tensor* key, Tensor* value, std::optional<Tensor*> mask,
                                          double scale, bool is_causal, double dropped, std::optional<Tensor*> draws);
/// The gradients of query, key and value at once.
std::tuple<TensorPtr, TensorPtr, TensorPtr> attention_gradients(Tensor* grad, Tensor* query, Tensor* key, Tensor* value,
                                                                Tensor* out, Tensor* logsumexp,
                                                                std::optional<Tensor*> mask, double scale,
                                                                bool is_causal, double dropped,
                                                                std::optional<Tensor*> draws);
/// What the weights of a query and a key are multiplied by where some are dropped.
TensorPtr attention_kept(Tensor* draws, Tensor* query, Tensor* key, double dropped);
/// Whether attention() takes masks and drops weights, for queries like this one.
bool attention_takes_extras(const Tensor* query);

}  // namespace adjoint::ops
