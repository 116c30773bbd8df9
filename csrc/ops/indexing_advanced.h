// Indexing by tensors: reading and writing the elements that index tensors and masks name.
#pragma once

#include "core/ints.h"
#include "core/tensor.h"

namespace adjoint::ops {

/// input[indices]: a sequence of integer tensors, masks and None (a whole dimension), one for each leading dimension.
TensorPtr index(Tensor* input, PyObject* indices);
/// Zeros of `size` with the gradient of index() summed at the places that it read.
TensorPtr index_backward(Tensor* input, Ints size, PyObject* indices);
/// A copy of the input with `values` (broadcast) at the indexed places, or added to them where `accumulate`.
TensorPtr index_put(Tensor* input, PyObject* indices, Tensor* values, bool accumulate);
/// The same in place, recorded as index_put. Returns its first argument.
Object index_put_(PyObject* input, PyObject* indices, PyObject* values, PyObject* accumulate);

}  // namespace adjoint::ops
