// The border between C++ exceptions and Python's error indicator.
#pragma once

#include <Python.h>

#include <exception>
#include <new>

#include "core/error.h"
#include "core/lock.h"
#include "core/ref.h"

namespace adjoint {

/// Turns the exception in flight into a Python one.
void set_python_error() noexcept;

/// For the C++ side: the Python error indicator is set.
[[noreturn]] inline void fail_python() { throw Error(ErrorKind::Python, ""); }

/// Takes a new reference from a CPython call; throws when the call failed.
inline Object checked(PyObject* object) {
  if (!object) fail_python();
  return Object::steal(object);
}
inline void check(bool ok) {
  if (!ok) fail_python();
}

/// A function for a table of methods, whatever its arguments are: the flags beside it say how it is called.
template <class F>
PyCFunction as_method(F function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

/// Runs f; on an exception sets the Python error and returns `failure`.
template <class F, class R = PyObject*>
R guarded(F&& f, R failure = nullptr) noexcept {
  try {
    return f();
  } catch (...) {
    set_python_error();
    return failure;
  }
}

}  // namespace adjoint
