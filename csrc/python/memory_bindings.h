// Figures and limits of memory for Python; src/adjoint/_memory.py is their public face.
#pragma once

#include <Python.h>

namespace adjoint::python {

void init_memory(PyObject* module);

}  // namespace adjoint::python
