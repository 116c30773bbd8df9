// Custom Functions: nodes whose backward is written in Python by the user.
#pragma once

#include "tape/node.h"

namespace adjoint::python {

/// Adds what autograd/function.py needs to the module.
void init_functions(PyObject* module);
/// The first of the node's saved values that save_for_backward kept, for nodes of custom Functions; else 0.
uint32_t function_tensors(const Node& node);

}  // namespace adjoint::python
