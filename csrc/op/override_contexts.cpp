// Contexts in which types, or types and modes, take no calls over; torch keeps them in its native module, too.
//
// Native, so that leaving one needs no deeper stack than entering it: at Python's limit of recursion, a method written
// in Python may be entered and not left.
#include "op/override_contexts.h"

#include <string>

#include "op/overrides.h"

namespace adjoint {
namespace {

struct Context {
  PyObject_HEAD
  OverrideState before;
};

enum class Switch { TypesOff, AllOff, AllOn };

template <Switch what>
PyObject* enter(PyObject* self, PyObject*) {
  const OverrideState before = override_state();
  reinterpret_cast<Context*>(self)->before = before;
  if constexpr (what == Switch::TypesOff) set_override_state({false, before.modes});
  if constexpr (what == Switch::AllOff) set_override_state({false, false});
  if constexpr (what == Switch::AllOn) set_override_state({true, true});
  Py_RETURN_NONE;
}
PyObject* leave(PyObject* self, PyObject* const*, Py_ssize_t) {
  set_override_state(reinterpret_cast<Context*>(self)->before);
  Py_RETURN_NONE;
}
/// What is left without being entered changes nothing.
PyObject* make(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* self = type->tp_alloc(type, 0);
  if (self) reinterpret_cast<Context*>(self)->before = override_state();
  return self;
}
void destroy(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

template <Switch what>
void add_context(PyObject* module, const char* name, const char* doc) {
  static PyMethodDef methods[] = {{"__enter__", enter<what>, METH_NOARGS, nullptr},
                                  {"__exit__", as_method(leave), METH_FASTCALL, nullptr},
                                  {nullptr, nullptr, 0, nullptr}};
  PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(make)},
                         {Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
                         {Py_tp_methods, methods},
                         {Py_tp_doc, const_cast<char*>(doc)},
                         {0, nullptr}};
  std::string full = std::string("adjoint._C.") + name;
  PyType_Spec spec = {full.c_str(), sizeof(Context), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  check(PyModule_AddObjectRef(module, name, checked(PyType_FromSpec(&spec)).get()) == 0);
}

}  // namespace

void init_override_contexts(PyObject* module) {
  add_context<Switch::TypesOff>(module, "DisableTorchFunctionSubclass",
                                "DisableTorchFunctionSubclass()\n--\n\n"
                                "A context in which no subclass's `__torch_function__` is asked; modes still are.\n\n"
                                ">>> import adjoint as torch\n"
                                ">>> class Named(torch.Tensor): pass\n"
                                ">>> x = torch.ones(2).as_subclass(Named)\n"
                                ">>> with torch._C.DisableTorchFunctionSubclass():\n"
                                "...     print(type(x + 1).__name__, type(x).__name__)\n"
                                "Tensor Named\n");
  add_context<Switch::AllOff>(module, "DisableTorchFunction",
                              "DisableTorchFunction()\n--\n\n"
                              "A context in which neither subclasses nor modes are asked.\n\n"
                              ">>> import adjoint as torch\n"
                              ">>> with torch._C.DisableTorchFunction():\n"
                              "...     torch._C._is_torch_function_enabled()\n"
                              "False\n");
  add_context<Switch::AllOn>(module, "_EnableTorchFunction", "A context in which both are asked again.");
}

}  // namespace adjoint
