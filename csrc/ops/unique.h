// Elements told apart: distinct values and distinct rows.
#pragma once

#include <tuple>

#include "core/tensor.h"

namespace adjoint::ops {

/// The distinct elements in order (`consecutive`: one of each run), which of them each element of the input is, and
/// how often each occurs. The last two have no elements unless they are asked for. Every NaN counts for itself.
std::tuple<TensorPtr, TensorPtr, TensorPtr> unique(Tensor* input, bool return_inverse, bool return_counts,
                                                   bool consecutive);
/// The same for the rows of a matrix, ordered by their first difference: where the first of each is in place of it.
std::tuple<TensorPtr, TensorPtr, TensorPtr> unique_rows(Tensor* input, bool consecutive);

}  // namespace adjoint::ops
