// Python's warnings; one that the user has made an error is thrown.
#pragma once

#include <utility>

#include "core/guard.h"

namespace adjoint {

inline void warn(const char* text) { check(PyErr_WarnEx(PyExc_UserWarning, text, 1) == 0); }
/// Only the first time; `warned` keeps whether that has been.
inline void warn_once(bool& warned, const char* text) {
  if (!std::exchange(warned, true)) warn(text);
}

}  // namespace adjoint
