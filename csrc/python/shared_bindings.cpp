#include "python/shared_bindings.h"

#include <unistd.h>

#include "core/batched.h"
#include "core/relocation.h"
#include "core/shared_memory.h"
#include "core/sparse.h"
#include "core/tensor.h"

namespace adjoint::python {
namespace {

Tensor* to_tensor(PyObject* object) {
  if (!is_tensor(object)) fail(ErrorKind::Type, "expected a tensor; got ", Py_TYPE(object)->tp_name);
  return as_tensor(object);
}

/// _share_memory(tensor): moves its storage to shared memory, with all tensors on it; False, and nothing done, when
/// others know where the memory is.
PyObject* py_share_memory(PyObject*, PyObject* object) {
  return guarded([&] {
    Tensor* tensor = to_tensor(object);
    refuse_batched(tensor);
    refuse_sparse(tensor);
    if (tensor->device != DeviceType::Cpu) fail("_share_memory(): only available on CPU");
    auto shared = StoragePtr::steal(allocate_shared(tensor->storage->nbytes));
    return PyBool_FromLong(move_storage(tensor->storage, std::move(shared), {&tensor, 1}));
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
    {"_share_memory", py_share_memory, METH_O, "Moves the storage of a tensor to shared memory."},
    {"_shared_file", py_shared_file, METH_O, "The file descriptor of a tensor's shared memory, or -1."},
    {"_map_shared", py_map_shared, METH_VARARGS, "The bytes of a file of shared memory."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void init_shared(PyObject* module) { check(PyModule_AddFunctions(module, functions) == 0); }

}  // namespace adjoint::python
