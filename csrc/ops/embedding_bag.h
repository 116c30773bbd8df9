// Sums, means and greatest elements of rows of a table, for bags of indices.
#pragma once

#include <optional>
#include <string>
#include <tuple>

#include "core/tensor.h"

namespace adjoint::ops {

// Bags are runs of `indices` that begin at `offsets`; with `include_last_offset` the last offset is the end of the last
// bag. Rows with `padding_idx` (negative: none) do not count.

/// (result, the bag of each index, and the sizes of the bags or, for "max", the rows of the greatest elements).
/// `scale_grad_by_freq` and `sparse` are for the gradient.
std::tuple<TensorPtr, TensorPtr, TensorPtr> embedding_bag(Tensor* weight, Tensor* indices, Tensor* offsets,
                                                          const std::string& mode,
                                                          std::optional<Tensor*> per_sample_weights,
                                                          bool include_last_offset, int64_t padding_idx,
                                                          bool scale_grad_by_freq, bool sparse);
TensorPtr embedding_bag_weight_grad(Tensor* grad, int64_t rows, Tensor* indices, const std::string& mode,
                                    std::optional<Tensor*> per_sample_weights, Tensor* bags, Tensor* details,
                                    int64_t padding_idx, bool scale_grad_by_freq);
TensorPtr embedding_bag_sample_grad(Tensor* grad, Tensor* weight, Tensor* indices, Tensor* bags, int64_t padding_idx);

}  // namespace adjoint::ops
