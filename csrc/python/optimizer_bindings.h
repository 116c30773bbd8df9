// The native part of adjoint.optim: one call that steps all parameters of a group.
#pragma once

#include <Python.h>

namespace adjoint::python {

void init_optimizer(PyObject* module);

}  // namespace adjoint::python
