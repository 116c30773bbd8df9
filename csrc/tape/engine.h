// The backward engine: iterative, on the calling thread, newest node first.
#pragma once

#include <vector>

#include "tape/node.h"

namespace adjoint {

struct BackwardRequest {
  std::vector<Edge> roots;           ///< where backward starts; the caller keeps the nodes alive
  std::vector<TensorPtr> gradients;  ///< one per root, of the root's shape
  std::vector<Edge> inputs;          ///< where gradients are wanted; empty: at all leaves
  bool accumulate = true;            ///< add to .grad; else return the gradients of `inputs`
  bool retain_graph = false;
  bool create_graph = false;
};

/// Gradients of `request.inputs` (null where there is no path) when not accumulating; else empty.
std::vector<TensorPtr> run_backward(BackwardRequest& request);

}  // namespace adjoint
