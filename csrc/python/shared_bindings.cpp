#include "python/shared_bindings.h"

#include <unistd.h>

#include <cstring>

#include "core/batched.h"
#include "core/shared_memory.h"
#include "core/tensor.h"

namespace adjoint::python {
namespace {

Tensor* to_tensor(PyObject* object) {
  if (!is_tensor(object)) fail(ErrorKind::Type, "expected a tensor; got ", Py_TYPE(object)->tp_name);
  return as_tensor(object);
}

/// _share_memory(tensors): moves the storage of the tensors to shared memory, all of them with it; False, and nothing
/// done, when they are not all that use the storage.
PyObject* py_share_memory(PyObject*, PyObject* tensors) {
  return guarded([&]() -> PyObject* {
    if (!PyTuple_Check(tensors) || PyTuple_GET_SIZE(tensors) == 0)
      fail(ErrorKind::Type, "_share_memory() takes a tuple of tensors");
    Storage* old = to_tensor(PyTuple_GET_ITEM(tensors, 0))->storage;
    refuse_batched(to_tensor(PyTuple_GET_ITEM(tensors, 0)));
    Py_ssize_t count = PyTuple_GET_SIZE(tensors);
    for (Py_ssize_t i = 0; i < count; ++i) {
      if (to_tensor(PyTuple_GET_ITEM(tensors, i))->storage != old)
        fail("_share_memory(): the tensors are not on the same storage");
    }
    if (static_cast<Py_ssize_t>(old->refs) != count) Py_RETURN_FALSE;
    auto shared = StoragePtr::steal(allocate_shared(old->nbytes));
    std::memcpy(shared->data, old->data, old->nbytes);
    shared->version = old->version;
    shared->saved = old->saved;
    for (Py_ssize_t i = 0; i < count; ++i) {
      Tensor* tensor = as_tensor(PyTuple_GET_ITEM(tensors, i));
      tensor->data = shared->data + (tensor->data - tensor->storage->data);
      retain(shared.get());
      release(std::exchange(tensor->storage, shared.get()));
    }
    Py_RETURN_TRUE;
  });
}

/// _shared_file(tensor): the file descriptor of its memory, or -1.
PyObject* py_shared_file(PyObject*, PyObject* tensor) {
  return guarded([&] { return PyLong_FromLong(shared_file(to_tensor(tensor)->storage)); });
}

/// _map_shared(file, nbytes): the bytes of a file of shared memory; the descriptor is no longer the caller's.
PyObject* py_map_shared(PyObject*, PyObject* args) {
  return guarded([&] {
    int file;
    Py_ssize_t nbytes;
    check(PyArg_ParseTuple(args, "in:_map_shared", &file, &nbytes));
    if (nbytes < 0) fail(ErrorKind::Value, "_map_shared(): the number of bytes is negative");
    auto storage = StoragePtr::steal(map_shared(file, static_cast<size_t>(nbytes)));
    char* data = storage->data;
    int64_t size = nbytes;
    return as_object(make_tensor(std::move(storage), data, make_shape({&size, 1}), DType::UInt8).take());
  });
}

PyMethodDef functions[] = {
    {"_share_memory", py_share_memory, METH_O, "Moves tensors on one storage to shared memory."},
    {"_shared_file", py_shared_file, METH_O, "The file descriptor of a tensor's shared memory, or -1."},
    {"_map_shared", py_map_shared, METH_VARARGS, "The bytes of a file of shared memory."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void init_shared(PyObject* module) { check(PyModule_AddFunctions(module, functions) == 0); }

}  // namespace adjoint::python
