// Tensors as the rest of the world sees them: Python numbers and lists, NumPy arrays, buffers, DLPack, pickles.
#pragma once

#include <optional>

#include "core/guard.h"
#include "core/scalar.h"
#include "core/tensor.h"

namespace adjoint::python {

/// The only element as a Python number; throws torch's error when there are more or none.
Object item(Tensor* tensor);
/// Nested lists of Python numbers; a number for a 0-d tensor.
Object to_list(Tensor* tensor);

/// An ndarray on the same memory. `force`: of detached values.
Object to_numpy(Tensor* tensor, bool force);
/// The buffer protocol. What is exported keeps the memory alive by itself, so no release function is needed.
int tensor_getbuffer(PyObject* self, Py_buffer* view, int flags);

/// NumPy is never imported by these: while nobody has imported it there are no arrays.
bool is_numpy_array(PyObject* object);
bool is_numpy_scalar(PyObject* object);
/// The type of the elements of an array or scalar of NumPy; throws torch's TypeError for types that tensors do not
/// have.
DType numpy_type(PyObject* array_or_scalar);
/// Whether the elements of a NumPy array have this machine's byte order.
bool is_native(PyObject* array);
/// What becomes of a tensor on foreign memory: it is kept, or only read from. Warnings are for those that are kept.
enum class ArrayUse { Shared, Source };
/// A tensor on the memory of a NumPy array.
TensorPtr from_numpy(PyObject* array, ArrayUse use = ArrayUse::Shared);
/// A 1-d tensor on the memory of an object with the buffer protocol.
TensorPtr from_buffer(PyObject* object, DType dtype, int64_t count, int64_t offset);

/// Memory that belongs to somebody else, as a tensor; it is copied (with a warning) where the elements are not aligned.
TensorPtr adopt(void* data, Sizes sizes, Sizes strides, DType dtype, FreeMemory free_memory, void* context,
                ArrayUse use = ArrayUse::Shared, Device device = {});
/// Tells, once for each source ("NumPy array", "buffer"), that writing to the tensor writes to memory that should not
/// be written.
void warn_read_only(bool& warned, const char* source);

/// The values on memory of their own, without history.
TensorPtr deepcopy(Tensor* tensor);
/// What pickle needs: (function, arguments[, attributes]).
Object reduce(Tensor* tensor, int protocol);

Object to_dlpack(Tensor* tensor, PyObject* max_version, bool copy);
TensorPtr from_dlpack_capsule(PyObject* capsule);
bool is_dlpack_capsule(PyObject* object);

extern PyMethodDef dlpack_methods[];
extern PyMethodDef dlpack_functions[];
/// Adds the functions to the module and the methods (numpy, __array__, __dlpack__, __reduce_ex__) to the tensor type.
void init_interop(PyObject* module);

}  // namespace adjoint::python
