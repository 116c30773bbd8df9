#include "cuda/sessions.h"

#include <Python.h>

#include "core/warning.h"

namespace adjoint::cuda {

void warn_of_missing(const std::string& text) {
  const PyGILState_STATE state = PyGILState_Ensure();
  try {
    warn(text.c_str());
  } catch (...) {
    PyGILState_Release(state);
    throw;
  }
  PyGILState_Release(state);
}

}  // namespace adjoint::cuda
