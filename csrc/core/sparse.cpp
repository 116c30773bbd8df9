#include "core/sparse.h"

#include <utility>

#include "core/error.h"
#include "core/mode.h"

namespace adjoint {
namespace {

void destroy(Storage* storage) {
  auto* sparse = static_cast<SparseStorage*>(storage);
  release(sparse->values);
  Py_DECREF(sparse->pattern);
  delete sparse;
}

constexpr StorageOwner owner = {destroy, false};

}  // namespace

TensorPtr make_sparse(const Tensor* values, PyObject* pattern, Layout layout, Sizes sizes) {
  sparse_in_use = true;
  const DType dtype = values->dtype;
  const Device device = seeming(DeviceType::Sparse, place_of(values->device));
  const int64_t strides[kMaxDims] = {};
  ShapePtr shape = make_shape(sizes, Sizes(strides, sizes.size()));
  TensorPtr kept = alias(values);
  auto* storage = new SparseStorage;
  static_cast<Storage&>(*storage) = {1, 0, nullptr, 0, false, false, &owner};
  storage->values = kept.take();
  storage->pattern = Py_NewRef(pattern);
  storage->layout = layout;
  TensorPtr result = make_tensor(StoragePtr::steal(storage), nullptr, std::move(shape), dtype, device);
  if (mode_flags & kInferenceMode) result->flags |= kInferenceTensor;
  return result;
}

void assign_sparse(Tensor* target, const Tensor* source) {
  SparseStorage *to = sparse_storage(target), *from = sparse_storage(source);
  TensorPtr values = TensorPtr::steal(std::exchange(to->values, TensorPtr::borrow(from->values).take()));
  Object pattern = Object::steal(std::exchange(to->pattern, Py_NewRef(from->pattern)));
  ShapePtr shape = ShapePtr::steal(std::exchange(target->shape, ShapePtr::borrow(source->shape).take()));
  to->layout = from->layout;
  target->dtype = source->dtype;
}

void refuse_sparse(const Tensor* tensor) {
  if (is_sparse(tensor))
    fail(
        "Cannot access data pointer of Tensor that doesn't have storage: it is sparse. Look at its values(), or make "
        "it "
        "dense with to_dense().");
}

void refuse_sparse_tangent(const char* op) {
  fail(ErrorKind::NotImplemented, "Trying to use forward AD with ", op,
       " that does not support it: sparse tensors carry no tangents. Compute with dense tensors, or with values and "
       "indices, or take the derivative in reverse mode.");
}

}  // namespace adjoint
