// What sparse tensors are made of: plain tensors of indices and values, grouped, summed and multiplied.
#pragma once

#include <optional>
#include <tuple>

#include "core/tensor.h"

namespace adjoint::ops {

/// Keys from 0 to below `bound`: (the entries in the order of their keys, which of the distinct keys each entry has,
/// and where each of these begins in that order, with the number of entries at the end).
std::tuple<TensorPtr, TensorPtr, TensorPtr> sparse_group(Tensor* keys, int64_t bound);
/// The sums of the rows of `values` that belong together, as sparse_group() has found them; `groups` is for the
/// gradient.
TensorPtr sparse_sum_groups(Tensor* values, Tensor* order, Tensor* starts, Tensor* groups);
/// A sparse matrix times a dense one. The entries of row i are starts[i] up to starts[i + 1], of `order` if it is
/// given.
TensorPtr sparse_product(Tensor* values, Tensor* starts, std::optional<Tensor*> order, Tensor* columns, Tensor* dense);
/// The products of row[e] of `first` and column[e] of `second`.
TensorPtr sparse_sampled(Tensor* row, Tensor* column, Tensor* first, Tensor* second);
/// The solution of a triangular system, by the entries of sparse_product(); `dense` is what the product shall be.
TensorPtr sparse_solve(Tensor* values, Tensor* starts, std::optional<Tensor*> order, Tensor* columns, Tensor* dense,
                       bool upper, bool unitriangular);

}  // namespace adjoint::ops
