// What adjoint.autograd.graph and anomaly_mode need of the core: saved tensors and their hooks, runs of backward,
// edges.
#pragma once

#include "tape/node.h"

namespace adjoint::python {

void init_graph(PyObject* module);

/// The SavedTensor object of a node's `_raw_saved_<name>` (a tuple of them for a list), or null when there is none.
Object raw_saved(Node& node, const char* name);
/// The names of the node's `_raw_saved_*` attributes.
std::vector<std::string> raw_saved_names(const Node& node);

}  // namespace adjoint::python
