// Ops that rearrange elements into new memory: joining, repeating, reversing, shifting, masking triangles.
#pragma once

#include <optional>
#include <vector>

#include "core/ints.h"
#include "core/tensor.h"

namespace adjoint::ops {

/// One after the other along a dimension that they have. Tensors of size [0] are left out, as in torch.
TensorPtr cat(std::vector<Tensor*> tensors, int64_t dim);
/// Side by side along a new dimension.
TensorPtr stack(std::vector<Tensor*> tensors, int64_t dim);

TensorPtr flip(Tensor* input, Ints dims);
/// Moves elements along dimensions, those that leave at one end coming back at the other; without `dims` over all
/// elements.
TensorPtr roll(Tensor* input, Ints shifts, std::optional<Ints> along);
/// Turns the plane of two dimensions by k quarters.
TensorPtr rot90(Tensor* input, int64_t k, Ints dims);
TensorPtr repeat(Tensor* input, Ints repeats);
/// i repeated repeats[i] times, for all i: the index of repeat_interleave.
TensorPtr interleaved_index(Tensor* repeats, std::optional<int64_t> output_size);

TensorPtr tril(Tensor* input, int64_t diagonal);
TensorPtr triu(Tensor* input, int64_t diagonal);

}  // namespace adjoint::ops
