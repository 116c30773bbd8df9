#include "core/warning.h"

#include "core/lock.h"

namespace adjoint {

void warn(const char* text) {
  Object module = checked(in_python([] { return PyImport_ImportModule("adjoint._warning"); }));
  Object function = checked(PyObject_GetAttrString(module.get(), "warn_user"));
  Object message = checked(PyUnicode_FromString(text));
  checked(call_python(function.get(), message.get()));
}

}  // namespace adjoint
