// Hooks on tensors and nodes, run by the engine.
#pragma once

#include "tape/node.h"

namespace adjoint {

/// Runs the hooks of the tensors that are outputs of `node` on their gradients, then fills .grad of those that retain
/// it.
void run_tensor_hooks(Node& node, TensorPtr* outputs, bool create_graph);
/// Node pre-hooks, apply, node post-hooks, and a leaf's post-accumulation hooks.
void apply_with_hooks(Node& node, TensorPtr* outputs, TensorPtr* edges, const ApplyContext& context);

/// Adds a hook to the gradient of `tensor`; returns the dict that holds it (borrowed).
PyObject* tensor_hook_dict(Tensor* tensor);
/// Asks for .grad of a non-leaf.
void retain_grad(Tensor* tensor);

}  // namespace adjoint
