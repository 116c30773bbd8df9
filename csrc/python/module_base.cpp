#include "python/module_base.h"

#include <array>

#include "core/guard.h"
#include "python/explained.h"
#include "python/module_calls.h"

namespace adjoint::python {
namespace {

/// Where a module keeps what is reached like an attribute, in the order of the search.
constexpr std::array kTableNames = {"_parameters", "_buffers", "_modules"};
/// A module calls `forward` directly while these dicts of its own are empty, and those of all modules as well.
constexpr std::array kHookNames = {"_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks"};

std::array<PyObject*, kTableNames.size()> table_names;
std::array<PyObject*, kHookNames.size()> hook_names;
PyObject* forward_name;
PyTypeObject* base_type;

PyObject* global_hooks;     ///< tuple of dicts
PyObject* call_with_hooks;  ///< function (module, args, kwargs)

/// A member of the tables, borrowed; null when there is none.
PyObject* find_member(PyObject* self, PyObject* name) {
  Object own = checked(PyObject_GenericGetDict(self, nullptr));
  for (PyObject* table_name : table_names) {
    PyObject* table = PyDict_GetItemWithError(own.get(), table_name);
    if (table && PyDict_Check(table)) {
      if (PyObject* found = PyDict_GetItemWithError(table, name)) return found;
    }
    check(!PyErr_Occurred());
  }
  return nullptr;
}

[[noreturn]] void fail_missing(PyObject* self, PyObject* name) {
  Object own = checked(PyObject_GenericGetDict(self, nullptr));
  const bool made = PyDict_GetItemWithError(own.get(), table_names[0]) != nullptr;
  check(!PyErr_Occurred());
  const char* type_name = Py_TYPE(self)->tp_name;
  if (made) {
    PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute '%U'", type_name, name);
  } else {
    PyErr_Format(PyExc_AttributeError,
                 "'%s' object has no attribute '%U'; call super().__init__() first in %s.__init__", type_name, name,
                 type_name);
  }
  // What the interpreter reads to suggest a similar name.
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (PyObject_SetAttrString(value, "name", name) < 0 || PyObject_SetAttrString(value, "obj", self) < 0) PyErr_Clear();
  PyErr_Restore(type, value, trace);
  fail_python();
}

/// __getattr__: the members that are not ordinary attributes.
PyObject* get_member(PyObject* self, PyObject* name) {
  return guarded([&] {
    if (!PyUnicode_Check(name)) fail(ErrorKind::Type, "attribute name must be string");
    PyObject* found = find_member(self, name);
    if (!found) fail_missing(self, name);
    return Py_NewRef(found);
  });
}

/// __getattribute__: an ordinary attribute, else a member; the failed search for the first raises nothing.
PyObject* get_attribute(PyObject* self, PyObject* name) {
  PyObject* found = _PyObject_GenericGetAttrWithDict(self, name, nullptr, 1);
  return found || PyErr_Occurred() ? found : get_member(self, name);
}

bool is_empty_dict(PyObject* object) { return object && PyDict_Check(object) && PyDict_GET_SIZE(object) == 0; }

bool has_hooks(PyObject* self) {
  Object own = checked(PyObject_GenericGetDict(self, nullptr));
  for (PyObject* name : hook_names) {
    if (!is_empty_dict(PyDict_GetItemWithError(own.get(), name))) return true;
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(global_hooks); ++i) {
    if (!is_empty_dict(PyTuple_GET_ITEM(global_hooks, i))) return true;
  }
  return false;
}

/// The end of a call that failed: the error gets the name of the module.
[[gnu::cold, gnu::noinline]] PyObject* failed(PyObject* self) {
  if (PyErr_ExceptionMatches(PyExc_Exception)) explain("adjoint.nn.modules.module_errors", "name_module", self);
  return nullptr;
}

PyObject* call(PyObject* self, PyObject* args, PyObject* kwargs) {
  PyObject* result = guarded([&] {
    if (!call_with_hooks) fail("a module was called before adjoint.nn was imported");
    ModuleCall running(self);
    Object result;
    if (!has_hooks(self)) {
      Object forward = checked(PyObject_GetAttr(self, forward_name));
      result = checked(in_python([&] { return PyObject_Call(forward.get(), args, kwargs); }));
    } else {
      check(!PyErr_Occurred());
      Object keywords = kwargs ? Object::borrow(kwargs) : checked(PyDict_New());
      result = checked(call_python(call_with_hooks, self, args, keywords.get()));
    }
    running.log();
    return result.take();
  });
  return result ? result : failed(self);
}

/// _adopt(cls): lets a subclass find attributes by get_attribute itself. Python would go through its own lookup of
/// __getattribute__ and __getattr__, because a class that has the latter may override it; unless this one does.
PyObject* adopt(PyObject*, PyObject* cls) {
  return guarded([&]() -> PyObject* {
    auto* type = reinterpret_cast<PyTypeObject*>(cls);
    if (!PyType_Check(cls) || !PyType_IsSubtype(type, base_type))
      fail(ErrorKind::Type, "expected a subclass of Module; got ", Py_TYPE(cls)->tp_name);
    for (const char* name : {"__getattr__", "__getattribute__"}) {
      Object found = checked(PyObject_GetAttrString(cls, name));
      Object own = checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(base_type), name));
      if (found.get() != own.get()) Py_RETURN_NONE;
    }
    type->tp_getattro = get_attribute;
    PyType_Modified(type);
    Py_RETURN_NONE;
  });
}

/// _set_module_call(function, dicts): what runs a call with hooks, and the dicts of hooks of all modules.
PyObject* set_module_call(PyObject*, PyObject* args) {
  PyObject *function, *dicts;
  if (!PyArg_ParseTuple(args, "OO!", &function, &PyTuple_Type, &dicts)) return nullptr;
  Py_XSETREF(call_with_hooks, Py_NewRef(function));
  Py_XSETREF(global_hooks, Py_NewRef(dicts));
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"_adopt_module_type", adopt, METH_O, "Gives a subclass of Module the fast search for attributes."},
    {"_set_module_call", set_module_call, METH_VARARGS, "Sets what calls a module that has hooks."},
    {nullptr, nullptr, 0, nullptr},
};
PyMethodDef methods[] = {
    {"__getattr__", get_member, METH_O, "A parameter, buffer or submodule by name."},
    {nullptr, nullptr, 0, nullptr},
};
PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>("What Module does natively: finding its members, and calling forward.")},
    {Py_tp_getattro, reinterpret_cast<void*>(get_attribute)},
    {Py_tp_call, reinterpret_cast<void*>(call)},
    {Py_tp_methods, methods},
    {0, nullptr},
};
PyType_Spec spec = {"adjoint._C._ModuleBase", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

}  // namespace

void init_module_base(PyObject* module) {
  auto intern = [](const char* name) { return checked(PyUnicode_InternFromString(name)).take(); };
  for (size_t i = 0; i < kTableNames.size(); ++i) table_names[i] = intern(kTableNames[i]);
  for (size_t i = 0; i < kHookNames.size(); ++i) hook_names[i] = intern(kHookNames[i]);
  forward_name = intern("forward");
  base_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)).take());
  check(PyModule_AddObjectRef(module, "_ModuleBase", reinterpret_cast<PyObject*>(base_type)) == 0);
  check(PyModule_AddFunctions(module, functions) == 0);
}

}  // namespace adjoint::python
