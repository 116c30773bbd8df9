#include "python/explained.h"

#include "core/guard.h"

namespace adjoint::python {
namespace {

initproc python_init;  ///< what CPython calls an __init__ that is written in Python by

/// __init__, whose refusal of a keyword names what was meant.
int init(PyObject* self, PyObject* args, PyObject* kwargs) {
  int result = python_init(self, args, kwargs);
  if (result < 0 && kwargs && PyErr_ExceptionMatches(PyExc_TypeError))
    explain("adjoint._refusal", "explain_keyword", reinterpret_cast<PyObject*>(Py_TYPE(self)));
  return result;
}

/// _explain_init(cls): for a class whose __init__ is written in Python, or inherited from one that is.
PyObject* explain_init(PyObject*, PyObject* cls) {
  return guarded([&]() -> PyObject* {
    if (!PyType_Check(cls)) fail(ErrorKind::Type, "expected a class; got ", Py_TYPE(cls)->tp_name);
    auto* type = reinterpret_cast<PyTypeObject*>(cls);
    Object own = checked(PyObject_GetAttrString(cls, "__init__"));
    if (type->tp_init != init && PyFunction_Check(own.get())) {
      python_init = type->tp_init;
      type->tp_init = init;  // which no cache of attributes knows of
    }
    Py_RETURN_NONE;
  });
}

PyMethodDef functions[] = {
    {"_explain_init", explain_init, METH_O, "Lets a class name the keyword that was meant by one that it has not."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void explain(const char* module, const char* function, PyObject* subject) noexcept {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace) PyException_SetTraceback(value, trace);
  in_python([&] {
    Object home = Object::steal(PyImport_ImportModule(module));
    Object called = home ? Object::steal(PyObject_GetAttrString(home.get(), function)) : Object();
    if (called) Object::steal(PyObject_CallFunctionObjArgs(called.get(), subject, value, nullptr));
  });
  PyErr_Clear();  // the first error matters
  PyErr_Restore(type, value, trace);
}

void init_explained(PyObject* module) { check(PyModule_AddFunctions(module, functions) == 0); }

}  // namespace adjoint::python
