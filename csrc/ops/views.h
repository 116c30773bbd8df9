// Views: other geometries on the same memory, and the backward of those that show only a part of it.
#pragma once

#include <optional>

#include "core/ints.h"
#include "core/tensor.h"

namespace adjoint::ops {

/// A raw view of `tensor` repeated to `sizes`; the strides go to `strides`. Throws torch's message when it does not
/// fit.
View expanded_view(const Tensor* tensor, Sizes sizes, int64_t* strides);

// ---- Geometry. Each returns an alias of its input.

TensorPtr view_sizes(Tensor* input, Ints size);
/// The sizes that a view or reshape of `numel` elements asks for, with -1 worked out; throws where there are none.
Ints inferred_sizes(Sizes size, int64_t numel);
/// Whether view_sizes can show these sizes (of as many elements) without a copy.
bool fits_view(const Tensor* input, Sizes sizes);
TensorPtr transpose(Tensor* input, int64_t dim0, int64_t dim1);
TensorPtr t(Tensor* input);
TensorPtr permute(Tensor* input, Ints dims);
TensorPtr expand(Tensor* input, Ints size);
TensorPtr select(Tensor* input, int64_t dim, int64_t index);
/// Elements start, start + step, ... before end along `dim`; ends beyond the dimension are cut to it.
TensorPtr slice(Tensor* input, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step);
/// Without the dimensions of size 1 among `dims` (all dimensions when none are given).
TensorPtr squeeze_dims(Tensor* input, std::optional<Ints> dim);
inline TensorPtr squeeze_all(Tensor* input) { return squeeze_dims(input, std::nullopt); }
TensorPtr unsqueeze(Tensor* input, int64_t dim);
TensorPtr diagonal(Tensor* input, int64_t offset, int64_t dim1, int64_t dim2);
/// Windows of `size` elements every `step` along a dimension, as a new last dimension.
TensorPtr unfold(Tensor* input, int64_t dimension, int64_t size, int64_t step);
/// Any geometry within the storage; the offset counts from the storage's start.
TensorPtr as_strided(Tensor* input, Ints size, Ints stride, std::optional<int64_t> storage_offset);
/// The same with an offset that counts from the input's first element.
TensorPtr as_strided_within(Tensor* input, Ints size, Ints stride, int64_t offset);
TensorPtr view_as_real(Tensor* input);
TensorPtr view_as_complex(Tensor* input);
inline TensorPtr alias_of(Tensor* input) { return alias(input); }
/// The memory without history; out of inference mode, with a version counter.
TensorPtr detached(Tensor* input);
/// The memory read as another type, the last dimension scaled to fit.
TensorPtr view_dtype(Tensor* input, DType dtype);

// ---- Backward of the views: zeros of the input's size with the gradient written (or summed) where the view looked.

TensorPtr select_backward(Tensor* input, Ints size, int64_t dim, int64_t index);
TensorPtr slice_backward(Tensor* input, Ints size, int64_t dim, std::optional<int64_t> start,
                         std::optional<int64_t> end, int64_t step);
TensorPtr diagonal_backward(Tensor* input, Ints size, int64_t offset, int64_t dim1, int64_t dim2);
TensorPtr unfold_backward(Tensor* input, Ints size, int64_t dimension, int64_t window, int64_t step);
/// A flat buffer of `extent` elements into which the gradient of an as_strided view is summed.
TensorPtr as_strided_backward(Tensor* input, int64_t extent, Ints size, Ints stride, int64_t offset);

}  // namespace adjoint::ops
