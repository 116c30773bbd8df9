// Reading and writing at places that an index tensor names: gather, scatter, slices by index, take and put, embeddings.
// Functions with a trailing underscore write into their input; see changed_copy for the others. Indices are int64 or
// int32 where torch takes both.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "core/ints.h"
#include "ops/numbers.h"
#include "ops/views_copied.h"

namespace adjoint::ops {

TensorPtr gather(Tensor* input, int64_t dim, Tensor* index, bool sparse_grad);
/// Zeros of `size` with `grad` added at `index` along `dim`: the transpose of gather.
TensorPtr gather_backward(Tensor* grad, const Ints& size, int64_t dim, Tensor* index);
void scatter_src_(Tensor* input, int64_t dim, Tensor* index, Tensor* src);
void scatter_value_(Tensor* input, int64_t dim, Tensor* index, const Scalar& value);
void scatter_add_(Tensor* input, int64_t dim, Tensor* index, Tensor* src);
/// `reduce` is "sum", "prod", "mean", "amax" or "amin".
void scatter_reduce_(Tensor* input, int64_t dim, Tensor* index, Tensor* src, const std::string& reduce,
                     bool include_self);

TensorPtr index_select(Tensor* input, int64_t dim, Tensor* index);
void index_add_(Tensor* input, int64_t dim, Tensor* index, Tensor* source, const Scalar& alpha);
/// `reduce` is "prod", "mean", "amax" or "amin".
void index_reduce_(Tensor* input, int64_t dim, Tensor* index, Tensor* source, const std::string& reduce,
                   bool include_self);
void index_copy_(Tensor* input, int64_t dim, Tensor* index, Tensor* source);
TensorPtr index_fill(Tensor* input, int64_t dim, Tensor* index, const Value& value);

/// The input seen as one flat row of elements, as put sees it.
TensorPtr take(Tensor* input, Tensor* index);
TensorPtr put(Tensor* input, Tensor* index, Tensor* source, bool accumulate);

/// The rows of `weight` that `indices` name. The other arguments matter to the gradient only.
TensorPtr embedding(Tensor* weight, Tensor* indices, int64_t padding_idx, bool scale_grad_by_freq, bool sparse);
/// `rows` rows of zeros with those of `grad` added at `indices`, but for `padding_idx`.
TensorPtr embedding_backward(Tensor* grad, Tensor* indices, int64_t rows, int64_t padding_idx);

template <auto kChange>
struct Change;
template <class... Arguments, void (*kChange)(Tensor*, Arguments...)>
struct Change<kChange> {
  static TensorPtr copy(Tensor* input, Arguments... arguments) {
    TensorPtr result = packed(input);
    kChange(result.get(), arguments...);
    return result;
  }
};
/// scatter_add_ -> scatter_add: a contiguous copy of the input, changed.
template <auto kChange>
inline constexpr auto changed_copy = &Change<kChange>::copy;

}  // namespace adjoint::ops
