// Marks for profilers, for src/adjoint/cuda/nvtx.py.
#include "cuda/marks.h"

#include "core/guard.h"
#include "python/cuda_bindings.h"

namespace adjoint::python {
namespace {

const char* text_in(PyObject* object) {
  const char* text = PyUnicode_AsUTF8(object);
  check(text != nullptr);
  return text;
}

PyObject* py_push(PyObject*, PyObject* name) {
  return guarded([&] { return PyLong_FromLong(cuda::push_range(text_in(name))); });
}
PyObject* py_pop(PyObject*, PyObject*) {
  return guarded([&] { return PyLong_FromLong(cuda::pop_range()); });
}
PyObject* py_start(PyObject*, PyObject* name) {
  return guarded([&] { return PyLong_FromUnsignedLongLong(cuda::start_range(text_in(name))); });
}
PyObject* py_end(PyObject*, PyObject* range) {
  return guarded([&]() -> PyObject* {
    const unsigned long long number = PyLong_AsUnsignedLongLong(range);
    check(!PyErr_Occurred());
    cuda::end_range(number);
    Py_RETURN_NONE;
  });
}
PyObject* py_mark(PyObject*, PyObject* name) {
  return guarded([&]() -> PyObject* {
    cuda::mark(text_in(name));
    Py_RETURN_NONE;
  });
}

PyMethodDef functions[] = {{"_nvtx_push", py_push, METH_O, "Begins a range of this thread."},
                           {"_nvtx_pop", py_pop, METH_NOARGS, "Ends a range of this thread."},
                           {"_nvtx_start", py_start, METH_O, "Begins a range of the process."},
                           {"_nvtx_end", py_end, METH_O, "Ends a range of the process."},
                           {"_nvtx_mark", py_mark, METH_O, "Marks this moment."},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

void init_cuda_marks(PyObject* module) { check(PyModule_AddFunctions(module, functions) == 0); }

}  // namespace adjoint::python
