// Custom Functions: nodes whose backward is written in Python by the user.
#pragma once

#include <optional>

#include "tape/node.h"

namespace adjoint::python {

/// Adds what autograd/function.py needs to the module.
void init_functions(PyObject* module);
/// What save_for_backward kept: a list in one of the node's saved values, and its length also after it was freed.
struct FunctionTensors {
  uint32_t index;
  Py_ssize_t count;
};
/// Nothing for nodes that are not of a custom Function.
std::optional<FunctionTensors> function_tensors(const Node& node);

/// Saves an output that the node of a custom Function has saved before, now that it carries a tangent.
void save_function_output_again(Tensor* output);

}  // namespace adjoint::python
