#include "python/deterministic.h"

#include <string>

#include "core/deterministic.h"

namespace adjoint::python {
namespace {

PyObject* py_set(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&]() -> PyObject* {
    if (nargs != 3) fail(ErrorKind::Type, "_set_deterministic() takes enabled, warn_only and fill_memory");
    deterministic.enabled = args[0] == Py_True;
    deterministic.warn_only = args[1] == Py_True;
    deterministic.fill_memory = args[2] == Py_True;
    Py_RETURN_NONE;
  });
}

PyObject* py_get(PyObject*, PyObject*) {
  return Py_BuildValue("(NNN)", PyBool_FromLong(deterministic.enabled), PyBool_FromLong(deterministic.warn_only),
                       PyBool_FromLong(deterministic.fill_memory));
}

PyMethodDef functions[] = {
    {"_set_deterministic", as_method(py_set), METH_FASTCALL, "Sets (enabled, warn_only, fill_memory)."},
    {"_get_deterministic", py_get, METH_NOARGS, "The three flags of _set_deterministic."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void init_deterministic(PyObject* module) { check(PyModule_AddFunctions(module, functions) == 0); }

}  // namespace adjoint::python
