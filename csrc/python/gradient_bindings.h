// Lists of gradients on a GPU, each list in one launch: loss scaling and norms.
#pragma once

#include "core/guard.h"

namespace adjoint::python {

void init_gradients(PyObject* module);

}  // namespace adjoint::python
