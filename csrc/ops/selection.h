// Choosing elements: by a condition or a mask, by being nonzero, by counting or by place in a sorted row; and padding.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "core/ints.h"
#include "core/value.h"

namespace adjoint::ops {

using OneOrMore = std::variant<TensorPtr, std::vector<TensorPtr>>;

/// Elements of `input` where the condition holds, else of `other`; both may be numbers. With neither, the coordinates
/// of the true elements, one tensor for each dimension.
OneOrMore where(Tensor* condition, const std::optional<Value>& input, const std::optional<Value>& other);

TensorPtr masked_fill(Tensor* input, Tensor* mask, const Value& value);
TensorPtr masked_select(Tensor* input, Tensor* mask);
/// The transpose of masked_select: zeros of `size` (broadcast with the mask), with the elements of `grad` under the
/// mask.
TensorPtr masked_select_backward(Tensor* grad, const Ints& size, Tensor* mask);
TensorPtr masked_scatter(Tensor* input, Tensor* mask, Tensor* source);
/// What masked_scatter took from a source of `size`: the elements of `grad` under the mask, then zeros.
TensorPtr masked_scatter_backward(Tensor* grad, const Ints& size, Tensor* mask);

/// The coordinates of the elements that are not zero: rows of one tensor, or one tensor for each dimension.
OneOrMore nonzero(Tensor* input, bool as_tuple);
/// The first `size` rows of nonzero(), filled up with `fill_value`.
TensorPtr nonzero_static(Tensor* input, int64_t size, int64_t fill_value);
TensorPtr bincount(Tensor* input, std::optional<Tensor*> weights, int64_t minlength);
/// Places in the last dimension of `sorted`, which has one dimension or those of `values`; int32 where `narrow`.
TensorPtr sorted_places(Tensor* sorted, Tensor* values, bool right, bool narrow);

/// `pad` holds pairs (before, after), the last dimension's first; negative ones cut off.
TensorPtr constant_pad_nd(Tensor* input, const Ints& pad, const Scalar& value);

}  // namespace adjoint::ops
