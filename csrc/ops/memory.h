// Values moved: copies, fills, numbers read and written.
#pragma once

#include "core/memory_format.h"
#include "core/scalar.h"
#include "core/tensor.h"

namespace adjoint {

/// target[...] = source[...], converted; the sizes must be equal.
void copy_into(const View& source, const View& target);
inline void copy_into(const Tensor* source, Tensor* target) { copy_into(source->view(), target->view()); }
/// A contiguous tensor of the same values: itself when it is contiguous already.
TensorPtr contiguous(Tensor* tensor);
/// The elements as one row, in row-major order: on the same memory where they lie so.
TensorPtr flat(Tensor* tensor);
/// The row-major shape of a tensor: its own where that is one.
inline ShapePtr packed_shape(const Tensor* tensor) {
  return tensor->contiguous() ? ShapePtr::borrow(tensor->shape) : make_shape(tensor->sizes());
}
TensorPtr clone(const Tensor* tensor);
/// A copy in memory that a GPU reads and writes by itself; only of what is in the program's memory.
TensorPtr pinned(const Tensor* tensor);
/// The tensor itself where the program can read it; else its values in the program's memory.
TensorPtr in_program_memory(Tensor* tensor);
/// The values in another type (a copy), or the tensor itself when it has that type.
TensorPtr cast(Tensor* tensor, DType dtype);
/// Both: the values in another type, contiguous.
TensorPtr contiguous(Tensor* tensor, DType dtype);
/// The tensor, or a copy of it, whose elements lie in the order of a format.
TensorPtr dense_in(Tensor* tensor, MemoryFormat format);
/// A contiguous result with the strides of a memory format: itself, or a copy.
TensorPtr in_format(TensorPtr tensor, MemoryFormat format);

/// One number everywhere, converted to the tensor's type.
void fill(Tensor* tensor, const Scalar& value);
TensorPtr zeros(Sizes sizes, DType dtype, Device device);
/// The value of a tensor that has one element.
Scalar scalar_of(const Tensor* tensor);
/// Where values would have to be waited for: has whoever waits next fail with these words, which live as long as the
/// program, if an element is zero. False where they can be looked at now, which is not done here.
bool refuse_zeros_later(const Tensor* tensor, const char* words);

}  // namespace adjoint
