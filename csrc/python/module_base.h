// The native base of nn.Module: attributes and calls without a detour through Python.
#pragma once

#include <Python.h>

namespace adjoint::python {

void init_module_base(PyObject* module);

}  // namespace adjoint::python
