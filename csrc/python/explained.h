// Errors of Python's side that get more words while they are on their way out, from functions that are loaded with the
// first of them.
#pragma once

#include <Python.h>

namespace adjoint::python {

/// Hands the error that is set to function(subject, error) of a module of the package, which may change its text.
void explain(const char* module, const char* function, PyObject* subject) noexcept;

void init_explained(PyObject* module);

}  // namespace adjoint::python
