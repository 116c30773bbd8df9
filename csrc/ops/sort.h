// Sorting and selection along one dimension, and the gradient that they share.
#pragma once

#include <optional>
#include <utility>

#include "core/ints.h"
#include "core/tensor.h"

namespace adjoint::ops {

/// Sorting is always stable; `stable` is there for the signature's sake.
std::pair<TensorPtr, TensorPtr> sort(Tensor* input, int64_t dim, bool descending, std::optional<bool> stable);
TensorPtr argsort(Tensor* input, int64_t dim, bool descending, bool stable);
std::pair<TensorPtr, TensorPtr> topk(Tensor* input, int64_t k, int64_t dim, bool largest, bool sorted);

/// The k-th least element along `dim`, counted from 1, and where it is; equal ones count in their own order.
std::pair<TensorPtr, TensorPtr> kthvalue(Tensor* input, int64_t k, int64_t dim, bool keepdim);
/// The lower of two middle elements. A NaN wins, or with `nan` in the name counts only if there is nothing else.
std::pair<TensorPtr, TensorPtr> median(Tensor* input, int64_t dim, bool keepdim);
std::pair<TensorPtr, TensorPtr> nanmedian(Tensor* input, int64_t dim, bool keepdim);
/// Over all elements; NaN if there are none.
TensorPtr median_all(Tensor* input);
TensorPtr nanmedian_all(Tensor* input);
/// The least of the most frequent elements, and its last place.
std::pair<TensorPtr, TensorPtr> mode(Tensor* input, int64_t dim, bool keepdim);

/// Zeros of these sizes with `input` added at `indices` along `dim`: the transpose of picking elements by index. `dim`
/// may be missing from the input and the indices, having been reduced away.
TensorPtr put_back(Tensor* input, Tensor* indices, const Ints& size, int64_t dim);
/// The elements of `input` at `indices` along `dim`, in the indices' shape, which may lack `dim`.
TensorPtr pick(Tensor* input, Tensor* indices, int64_t dim);

}  // namespace adjoint::ops
