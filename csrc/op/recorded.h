// The recorded arithmetic that the tape needs, through the op table.
#pragma once

#include "tape/node.h"

namespace adjoint {

/// Gradient arithmetic, recorded when grad mode is on.
TensorPtr add_tensors(Tensor* a, Tensor* b);
/// Sums to a shape that broadcasts to the tensor's; itself when the sizes are equal.
TensorPtr sum_to(Tensor* tensor, const Shape* shape);
TensorPtr cast_recorded(Tensor* tensor, DType dtype);
TensorPtr moved_recorded(Tensor* tensor, Device device);
TensorPtr clone_recorded(Tensor* tensor);
TensorPtr contiguous_recorded(Tensor* tensor);
/// Zeros of these sizes, for values like this one: batched where it is.
TensorPtr zeros_recorded(Tensor* like, Sizes sizes);
void copy_recorded(Tensor* target, Tensor* source);
void add_recorded(Tensor* target, Tensor* other);
void zero_recorded(Tensor* target);
/// The view of `base` that has this geometry, `offset` elements of `dtype` behind its start. Where types differ, one is
/// the complex type of the other.
TensorPtr view_recorded(Tensor* base, DType dtype, const Shape* shape, int64_t offset);
/// The node of a regenerated view: view_recorded of the base, which requires grad.
NodePtr view_node(Tensor* base, const Tensor* view);
/// The values in the strides of `layout`, on memory of their own.
TensorPtr spread_recorded(Tensor* tensor, const Shape* layout);

}  // namespace adjoint
