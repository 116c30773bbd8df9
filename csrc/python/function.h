// Custom Functions: nodes whose backward is written in Python by the user.
#pragma once

#include <Python.h>

namespace adjoint::python {

/// Adds what autograd/function.py needs to the module.
void init_functions(PyObject* module);

}  // namespace adjoint::python
