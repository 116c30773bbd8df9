// What Python sees of a node: name(), next_functions, metadata, hooks, saved values.
#pragma once

#include "tape/node.h"

namespace adjoint::python {

/// Makes the base type of all nodes; called once at import.
PyTypeObject* init_nodes();

}  // namespace adjoint::python
