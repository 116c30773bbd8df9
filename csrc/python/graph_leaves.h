// Leaves as Python sees them: the type and layout of their gradients, and two tensors that change places.
#pragma once

#include "core/guard.h"

namespace adjoint::python {

void init_graph_leaves(PyObject* module);

}  // namespace adjoint::python
