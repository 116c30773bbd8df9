#include "python/cuda_bindings.h"

#include "core/guard.h"
#include "core/lock.h"
#include "core/tensor.h"
#include "cuda/allocator.h"
#include "cuda/backend.h"
#include "cuda/compiler.h"
#include "cuda/elementwise.h"
#include "cuda/library.h"
#include "cuda/runtime.h"
#include "cuda/through_cpu.h"
#include "types/types.h"

namespace adjoint::python {
namespace {

/// Work that other threads need not wait for.
constexpr int64_t kLong = int64_t{1} << 20;

int to_index(PyObject* object) {
  const long index = PyLong_AsLong(object);
  check(index != -1 || !PyErr_Occurred());
  if (index < 0 || index >= cuda::device_count())
    fail(ErrorKind::Assertion, "Invalid device id; there are ", cuda::device_count(), " devices, counted from 0, got ",
         index);
  return static_cast<int>(index);
}

Object list_of(const std::vector<std::string>& texts) {
  Object list = checked(PyList_New(0));
  for (const std::string& text : texts) {
    Object item = checked(PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
    check(PyList_Append(list.get(), item.get()) == 0);
  }
  return list;
}

PyObject* py_set_folders(PyObject*, PyObject* folders) {
  return guarded([&]() -> PyObject* {
    std::vector<std::string> paths;
    Object items = checked(PySequence_Fast(folders, "a list of folders is expected"));
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
      const char* path = PyUnicode_AsUTF8(PySequence_Fast_GET_ITEM(items.get(), i));
      check(path != nullptr);
      paths.emplace_back(path);
    }
    cuda::set_library_folders(std::move(paths));
    Py_RETURN_NONE;
  });
}

PyObject* py_why_unavailable(PyObject*, PyObject*) {
  return guarded([&] { return checked(PyUnicode_FromString(cuda::why_unavailable().c_str())).take(); });
}
PyObject* py_device_count(PyObject*, PyObject*) {
  return guarded([&] { return PyLong_FromLong(cuda::device_count()); });
}
PyObject* py_current_device(PyObject*, PyObject*) {
  return guarded([&] { return PyLong_FromLong(cuda::current_device()); });
}
PyObject* py_set_device(PyObject*, PyObject* index) {
  return guarded([&]() -> PyObject* {
    cuda::set_current_device(to_index(index));
    Py_RETURN_NONE;
  });
}
PyObject* py_synchronize(PyObject*, PyObject* index) {
  return guarded([&]() -> PyObject* {
    cuda::synchronize(to_index(index));
    Py_RETURN_NONE;
  });
}
PyObject* py_memory_stats(PyObject*, PyObject* index) {
  return guarded([&] {
    const cuda::MemoryStats stats = cuda::memory_stats(to_index(index));
    return checked(Py_BuildValue("{sLsLsLsLsLsLsLsLsLsLsLsL}", "allocated", stats.allocated, "allocated_peak",
                                 stats.allocated_peak, "reserved", stats.reserved, "reserved_peak",
                                 stats.reserved_peak, "requested", stats.requested, "active_blocks",
                                 stats.active_blocks, "segments", stats.segments, "allocations", stats.allocations,
                                 "frees", stats.frees, "segment_allocations", stats.segment_allocations,
                                 "segment_frees", stats.segment_frees, "retries", stats.retries))
        .take();
  });
}
PyObject* py_reset_peaks(PyObject*, PyObject* index) {
  return guarded([&]() -> PyObject* {
    cuda::reset_peaks(to_index(index));
    Py_RETURN_NONE;
  });
}
PyObject* py_empty_cache(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    cuda::empty_cache();
    Py_RETURN_NONE;
  });
}
PyObject* py_kernels(PyObject*, PyObject* native) {
  return guarded([&] { return list_of(cuda::kernel_names(cuda::backend, native == Py_True)).take(); });
}
PyObject* py_source(PyObject*, PyObject* args) {
  return guarded([&] {
    const char* name;
    PyObject* dtype;
    check(PyArg_ParseTuple(args, "sO:_cuda_source", &name, &dtype));
    return checked(PyUnicode_FromString(cuda::elementwise_source(name, to_dtype(dtype)).c_str())).take();
  });
}
PyObject* py_compile(PyObject*, PyObject* args) {
  return guarded([&] {
    const char* source;
    int capability;
    check(PyArg_ParseTuple(args, "si:_cuda_compile", &source, &capability));
    std::string code;
    {
      WithoutLock unlocked(kLong);
      code = cuda::compile(source, capability);
    }
    return checked(PyBytes_FromStringAndSize(code.data(), static_cast<Py_ssize_t>(code.size()))).take();
  });
}

PyMethodDef functions[] = {
    {"_cuda_set_folders", py_set_folders, METH_O, "Where NVIDIA's libraries are looked for."},
    {"_cuda_why_unavailable", py_why_unavailable, METH_NOARGS, "Why no GPU can be used; empty where one can."},
    {"_cuda_device_count", py_device_count, METH_NOARGS, "The number of GPUs."},
    {"_cuda_current_device", py_current_device, METH_NOARGS, "The number of this thread's GPU."},
    {"_cuda_set_device", py_set_device, METH_O, "Chooses this thread's GPU."},
    {"_cuda_synchronize", py_synchronize, METH_O, "Waits for all work of a GPU."},
    {"_cuda_memory_stats", py_memory_stats, METH_O, "What a GPU's allocator has done."},
    {"_cuda_reset_peaks", py_reset_peaks, METH_O, "Begins to count the peaks of memory anew."},
    {"_cuda_empty_cache", py_empty_cache, METH_NOARGS, "Gives unused memory back to the driver."},
    {"_cuda_kernels", py_kernels, METH_O, "The names of kernels that a GPU has (True), or has not (False)."},
    {"_cuda_source", py_source, METH_VARARGS, "The text of an elementwise kernel for a type."},
    {"_cuda_compile", py_compile, METH_VARARGS, "The machine code of a text for an architecture."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void init_cuda(PyObject* module) { check(PyModule_AddFunctions(module, functions) == 0); }

}  // namespace adjoint::python
