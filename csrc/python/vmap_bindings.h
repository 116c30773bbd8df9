// vmap, for the package's own use: its levels, the tensors in them, and a function that is run in one.
#pragma once

#include "core/guard.h"

namespace adjoint::python {

void init_vmap(PyObject* module);

}  // namespace adjoint::python
