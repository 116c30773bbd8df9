// The log behind adjoint.inspect.trace() as Python sees it.
#pragma once

#include <Python.h>

namespace adjoint::python {

void init_trace(PyObject* module);

}  // namespace adjoint::python
