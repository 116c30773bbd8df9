// Indexing by tensors: reading and writing the elements that index tensors and masks name.
#pragma once

#include <optional>
#include <vector>

#include "core/ints.h"
#include "core/tensor.h"

namespace adjoint::ops {

/// Integer tensors, masks and nothing (a whole dimension), one for each leading dimension.
using Indices = std::vector<std::optional<Tensor*>>;

/// input[indices]
TensorPtr index(Tensor* input, const Indices& indices);
/// Zeros of `size` with the gradient of index() summed at the places that it read.
TensorPtr index_backward(Tensor* input, Ints size, const Indices& indices);
/// A copy of the input with `values` (broadcast) at the indexed places, or added to them where `accumulate`.
TensorPtr index_put(Tensor* input, const Indices& indices, Tensor* values, bool accumulate);
void index_put_(Tensor* input, const Indices& indices, Tensor* values, bool accumulate);

}  // namespace adjoint::ops
