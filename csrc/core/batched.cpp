#include "core/batched.h"

#include <string>
#include <utility>

#include "core/error.h"

namespace adjoint {
namespace {

void destroy(Storage* storage) {
  auto* batch = static_cast<BatchStorage*>(storage);
  if (batch->chain) {
    batch->chain->forget(*batch);
    release(batch->chain);
  }
  release(batch->value);
  delete batch;
}

constexpr StorageOwner owner = {destroy, false};

/// The shape of one element.
ShapePtr element_shape(const Tensor* value, bool shared) {
  if (shared) return ShapePtr::borrow(value->shape);
  return make_shape(value->sizes().subspan(1), value->strides().subspan(1));
}

StoragePtr hold(TensorPtr value, uint64_t level, bool shared) {
  auto* storage = new BatchStorage;
  static_cast<Storage&>(*storage) = {1, 0, value->storage->data, value->storage->nbytes, false, false, &owner};
  storage->level = level;
  storage->shared = shared;
  storage->value = value.take();
  return StoragePtr::steal(storage);
}

/// Owned; of the function that vmap has run last. A thread that ends leaves it behind.
thread_local PyObject* last_mapped = nullptr;

/// The function that a wrapper stands for, as functools.wraps says, or null where it is written in another language.
PyObject* unwrapped(PyObject* function) {
  while (PyFunction_Check(function)) {
    PyObject* names = reinterpret_cast<PyFunctionObject*>(function)->func_dict;
    PyObject* inner = names ? PyDict_GetItemString(names, "__wrapped__") : nullptr;
    if (!inner) return function;
    function = inner;
  }
  return PyMethod_Check(function) ? unwrapped(PyMethod_GET_FUNCTION(function)) : nullptr;
}

/// Where the program has it, or nothing.
std::string last_mapped_function() {
  if (!last_mapped) return "";
  auto* code = reinterpret_cast<PyCodeObject*>(last_mapped);
  const char *name = PyUnicode_AsUTF8(code->co_qualname), *file = PyUnicode_AsUTF8(code->co_filename);
  if (!name || !file) return PyErr_Clear(), "";
  return std::string(" The last function that vmap has run: ") + name + " (at " + file + ":" +
         std::to_string(code->co_firstlineno) + ")";
}

}  // namespace

void note_mapped_function(PyObject* function) {
  function = unwrapped(function);
  if (function) Py_XSETREF(last_mapped, Py_NewRef(PyFunction_GET_CODE(function)));
}

void refuse_escaped() {
  fail(
      "Either your tensor may have escaped from inside a function being vmapped, or this cannot be computed under "
      "vmap: "
      "a batched tensor has no memory of its own. Return it from the function, and use what vmap gives back.",
      last_mapped_function());
}

void reveal(BatchStorage& storage) {
  storage.chain->settle();
  release(std::exchange(storage.chain, nullptr));
}

TensorPtr make_batched(TensorPtr value, uint64_t level, bool shared, ShapePtr shape) {
  char* data = value->data;
  const DType dtype = value->dtype;
  const Device device = seeming(DeviceType::Batched, place_of(value->device));
  return make_tensor(hold(std::move(value), level, shared), data, std::move(shape), dtype, device);
}

TensorPtr make_batched(TensorPtr value, uint64_t level, bool shared, Tensor* like) {
  ShapePtr shape = element_shape(value.get(), shared);
  TensorPtr result = make_batched(std::move(value), level, shared, std::move(shape));
  if (like) {
    if (!like->extra || !like->extra->version) {
      detach_version(like);
      like->extra->version->value = like->storage->version;
    }
    share_version(result.get(), like);
  }
  return result;
}

bool outgrows(const Tensor* value, const Tensor* target) {
  for (; is_batched(value); value = batched_value(value)) {
    const Tensor* place = target;
    while (is_batched(place) && batched_level(place) != batched_level(value)) place = batched_value(place);
    if (!is_batched(place) || (is_shared(place) && !is_shared(value))) return true;
  }
  return false;
}

void refuse_batched(const Tensor* tensor) {
  if (!is_batched(tensor)) return;
  if (is_wrapped(tensor))
    fail(
        "Cannot access data pointer of Tensor that doesn't have storage: its class, which defines __torch_dispatch__, "
        "knows what it consists of; ask for that.");
  fail(
      "Cannot access data pointer of Tensor that doesn't have storage: under vmap it stands for all elements of the "
      "batch. Use tensor functions here, or look at what vmap returns.");
}

void set_batched_value(Tensor* tensor, TensorPtr value) {
  const uint64_t level = batched_level(tensor);
  const bool shared = is_shared(tensor);
  ShapePtr shape = element_shape(value.get(), shared);
  tensor->data = value->data;
  tensor->dtype = value->dtype;
  StoragePtr storage = hold(std::move(value), level, shared);
  storage->version = tensor->storage->version;
  StoragePtr former_storage = StoragePtr::steal(std::exchange(tensor->storage, storage.take()));
  ShapePtr former_shape = ShapePtr::steal(std::exchange(tensor->shape, shape.take()));
}

}  // namespace adjoint
