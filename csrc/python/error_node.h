// A history that raises an error when it is asked for a gradient.
#pragma once

#include "tape/node.h"

namespace adjoint::python {

/// A node for values whose derivative is not known: applying it raises the message (a str).
NodePtr make_error_node(PyObject* message, uint32_t n_outputs, uint32_t n_edges);
/// Adds _delayed_error, for autograd/function.py, to the module.
void init_error_node(PyObject* module);

}  // namespace adjoint::python
