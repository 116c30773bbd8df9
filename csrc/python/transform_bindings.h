// Levels of forward mode and others, and what transforms do with graphs, for the package's own use.
#pragma once

#include "core/guard.h"

namespace adjoint::python {

void init_transforms(PyObject* module);

}  // namespace adjoint::python
