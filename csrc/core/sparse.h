// Sparse tensors: few elements of many, as their values and a pattern that says where they are.
#pragma once

#include "core/batched.h"
#include "core/tensor.h"

namespace adjoint {

/// The layouts of torch, in the order of torch.layout's objects.
enum class Layout : uint8_t { Strided, SparseCoo, SparseCsr, SparseCsc, SparseBsr, SparseBsc };

/// Note [Sparse tensors]: a sparse tensor is a tensor like any other, with sizes, a type and a history of its own,
/// whose storage holds its values, a plain tensor without history, and its pattern: an object of Python that says where
/// they are (src/adjoint/sparse/patterns.py), that never changes, and that tensors share. It has the device `Sparse`,
/// whose kernels all refuse, and no data: a call with a sparse argument leaves for the handlers in src/adjoint/sparse
/// where other devices are looked at (op/sparse.h), and one that nobody handles is an error. The strides of its shape
/// are 0, and mean nothing.
///
/// A change in place gives the storage other values and another pattern, so that aliases see it; sizes are each
/// tensor's own.
struct SparseStorage : Storage {
  Tensor* values;     ///< owned
  PyObject* pattern;  ///< owned
  Layout layout;
};

/// Whether a sparse tensor has ever been made: until then nothing needs to look for one.
inline bool sparse_in_use = false;

inline bool is_sparse(const Tensor* tensor) { return tensor->device.type == DeviceType::Sparse; }
/// Of a sparse tensor.
inline SparseStorage* sparse_storage(const Tensor* tensor) { return static_cast<SparseStorage*>(tensor->storage); }
inline Layout layout_of(const Tensor* tensor) {
  return is_sparse(tensor) ? sparse_storage(tensor)->layout : Layout::Strided;
}

/// A sparse tensor of these sizes; no history. The values are kept as an alias without theirs.
TensorPtr make_sparse(const Tensor* values, PyObject* pattern, Layout layout, Sizes sizes);
/// Lets a sparse tensor, and its aliases, show what another one of its layout does.
void assign_sparse(Tensor* target, const Tensor* source);

/// Refuses a sparse tensor where memory is asked for.
void refuse_sparse(const Tensor* tensor);
/// Refuses what would give a sparse tensor a tangent, or take one through an op of sparse tensors that has none.
[[noreturn]] void refuse_sparse_tangent(const char* op);

}  // namespace adjoint
