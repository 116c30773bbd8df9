#include "op/meta.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "python/creation.h"
#include "tape/geometry.h"
#include "types/types.h"

namespace adjoint {
namespace {

/// A tensor of this geometry whose values are zero and must not be changed.
TensorPtr zeros_like(const Tensor* tensor) {
  int64_t last = 0;
  for (int d = 0; d < tensor->ndim(); ++d) last += (tensor->size(d) - 1) * tensor->stride(d);
  size_t bytes = tensor->numel() == 0 ? 1 : static_cast<size_t>((last + 1) * itemsize(tensor->dtype));
  void* memory = std::calloc(bytes, 1);
  if (memory == nullptr) throw std::bad_alloc();
  auto storage = StoragePtr::steal(adopt_memory(memory, bytes, std::free, memory));
  char* data = storage->data;
  return make_tensor(std::move(storage), data, ShapePtr::borrow(tensor->shape), tensor->dtype, DeviceType::Cpu);
}

}  // namespace

bool has_no_shape(PyObject* object) {
  return holds_no_values(object) && Py_TYPE(object) != tensor_type &&
         PyObject_HasAttrString(reinterpret_cast<PyObject*>(Py_TYPE(object)), "is_uninitialized") == 1;
}

void refuse_without_shape(std::string_view op, PyObject* object) {
  const auto refuse = [op](PyObject* tensor) {
    if (!has_no_shape(tensor)) return;
    fail(ErrorKind::Value, "Attempted to use an uninitialized parameter in ", op,
         ". This error happens when you are using a `LazyModule` or explicitly manipulating "
         "`torch.nn.parameter.UninitializedParameter` objects. When using LazyModules Call `forward` with a dummy "
         "batch to initialize the parameters before calling torch functions");
  };
  if (!is_sequence(object)) return refuse(object);
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) refuse(PySequence_Fast_GET_ITEM(object, i));
}

MetaCall::MetaCall(const char* op, PyObject* const* slots, size_t n) : op_(op), given_(slots) {
  for (size_t i = 0; i < n; ++i) refuse_without_shape(op, slots[i]);
  for (size_t i = 0; i < n; ++i) {
    kept_.push_back(stand_in(slots[i]));
    slots_.push_back(kept_.back().get());
  }
}

Object MetaCall::stand_in(PyObject* object) {
  if (holds_no_values(object)) return wrap(zeros_like(as_tensor(object)));
  // Indices may lie on the cpu, and so may numbers.
  if (is_tensor(object) && as_tensor(object)->ndim() > 0 && is_differentiable(as_tensor(object)->dtype))
    fail(op_, "(): Tensor on device cpu is not on the expected device meta! Move one of them by .to(device='meta')");
  if (!is_sequence(object)) return Object::borrow(object);
  Py_ssize_t n = PySequence_Fast_GET_SIZE(object);
  if (!std::any_of(PySequence_Fast_ITEMS(object), PySequence_Fast_ITEMS(object) + n, is_tensor))
    return Object::borrow(object);
  Object items = checked(PyTuple_New(n));
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(object, i);
    PyTuple_SET_ITEM(items.get(), i, stand_in(item).take());
  }
  return items;
}

Object MetaCall::on_meta(Object computed, const Tensor* base) const {
  for (size_t i = 0; i < slots_.size(); ++i) {
    // An op that gives its argument back may have changed its shape.
    if (computed.get() != slots_[i] || !holds_no_values(given_[i])) continue;
    resize(as_tensor(given_[i]), ShapePtr::borrow(as_tensor(slots_[i])->shape));
    return Object::borrow(given_[i]);
  }
  if (is_tensor(computed.get())) {
    const Tensor* result = as_tensor(computed.get());
    TensorPtr meta = base == nullptr ? empty(ShapePtr::borrow(result->shape), result->dtype, DeviceType::Meta)
                                     : alias(base, ShapePtr::borrow(result->shape), 0);
    if (base != nullptr) {
      meta->dtype = result->dtype;
      meta->data = base->data + (result->data - as_tensor(slots_[0])->data);
    }
    return wrap(std::move(meta));
  }
  if (!PyTuple_Check(computed.get())) return computed;
  Py_ssize_t n = PyTuple_GET_SIZE(computed.get());
  Object items = checked(PyTuple_New(n));
  for (Py_ssize_t i = 0; i < n; ++i)
    PyTuple_SET_ITEM(items.get(), i, on_meta(Object::borrow(PyTuple_GET_ITEM(computed.get(), i)), base).take());
  // The results under their names, where they have some.
  if (PyTuple_CheckExact(computed.get())) return items;
  return checked(call_python(reinterpret_cast<PyObject*>(Py_TYPE(computed.get())), items.get()));
}

}  // namespace adjoint
