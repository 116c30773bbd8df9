#include "python/memory_bindings.h"

#include "core/guard.h"
#include "core/storage.h"
#include "cpu/allocator.h"
#include "cpu/block_cache.h"
#include "cpu/memory_limit.h"
#include "op/arg.h"

namespace adjoint::python {
namespace {

/// A number of bytes; None where there is no limit.
Object limit_object(int64_t bytes) {
  return bytes == INT64_MAX ? Object::borrow(Py_None) : checked(PyLong_FromLongLong(bytes));
}

PyObject* py_memory_stats(PyObject*, PyObject*) {
  return guarded([&] {
    const cpu::MemoryStats stats = cpu::memory_stats();
    const BlockStats blocks = block_stats();
    auto number = [](int64_t value) { return static_cast<long long>(value); };
    Object limit = limit_object(cpu::memory_limit());
    return checked(Py_BuildValue("{s:L,s:L,s:L,s:L,s:L,s:O}", "current", number(stats.current), "peak",
                                 number(stats.peak), "cached", number(stats.cached), "fresh", number(blocks.fresh),
                                 "reused", number(blocks.reused), "limit", limit.get()))
        .take();
  });
}

PyObject* py_reset_peak(PyObject*, PyObject*) {
  cpu::reset_peak_memory();
  Py_RETURN_NONE;
}

PyObject* py_empty_cache(PyObject*, PyObject*) {
  cpu::empty_cache();
  Py_RETURN_NONE;
}

PyObject* py_set_limit(PyObject*, PyObject* value) {
  return guarded([&]() -> PyObject* {
    const int64_t bytes = value == Py_None ? INT64_MAX : to_int(value, "set_memory_limit", "bytes");
    if (bytes < 0)
      fail(ErrorKind::Value, "set_memory_limit: expected a number of bytes, 0 or more; got ", bytes,
           "; None takes the limit away");
    cpu::set_memory_limit(bytes);
    Py_RETURN_NONE;
  });
}

PyObject* py_container_memory(PyObject*, PyObject* root) {
  return guarded([&] {
    const char* path = PyUnicode_AsUTF8(root);
    check(path != nullptr);
    return limit_object(container_memory(path)).take();
  });
}

PyMethodDef functions[] = {
    {"_memory_stats", py_memory_stats, METH_NOARGS, "Figures of the memory of tensors."},
    {"_reset_peak_memory", py_reset_peak, METH_NOARGS, "Starts a new peak."},
    {"_empty_cache", py_empty_cache, METH_NOARGS, "Returns memory kept for reuse to the system."},
    {"_set_memory_limit", py_set_limit, METH_O, "Sets how many bytes tensors may hold; None: no limit."},
    {"_container_memory", py_container_memory, METH_O,
     "The memory limit of this process's control groups, as files below a folder that stands for / have it."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void init_memory(PyObject* module) { check(PyModule_AddFunctions(module, functions) == 0); }

}  // namespace adjoint::python
