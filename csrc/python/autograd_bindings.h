// backward(), grad() and the mode flags, as Python calls them.
#pragma once

#include <Python.h>

namespace adjoint::python {

void init_autograd(PyObject* module);

}  // namespace adjoint::python
