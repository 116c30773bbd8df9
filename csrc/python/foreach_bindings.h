// The native part of torch._foreach_*: one op on every tensor of a list.
#pragma once

#include <Python.h>

namespace adjoint::python {

void init_foreach(PyObject* module);

}  // namespace adjoint::python
