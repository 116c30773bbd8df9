// Levels of vmap and forward mode, for the package's own use.
#pragma once

#include "core/guard.h"

namespace adjoint::python {

void init_transforms(PyObject* module);

}  // namespace adjoint::python
