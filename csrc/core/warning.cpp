#include "core/warning.h"

#include "core/lock.h"

namespace adjoint {

void warn(const char* text) {
  Object module = checked(in_python([] { return PyImport_ImportModule("adjoint._warning"); }));
  Object function = checked(PyObject_GetAttrString(module.get(), "warn_user"));
  Object message = checked(PyUnicode_FromString(text));
  checked(call_python(function.get(), message.get()));
}

void warn_with_lock(const std::string& text) {
  const PyGILState_STATE state = PyGILState_Ensure();
  try {
    warn(text.c_str());
  } catch (...) {
    PyGILState_Release(state);
    throw;
  }
  PyGILState_Release(state);
}

}  // namespace adjoint
