#include "cuda/geometry.h"

#include <algorithm>
#include <numeric>

namespace adjoint::cuda {

Geometry joint_geometry(std::span<const View* const> views) {
  Geometry joint;
  joint.views = static_cast<int>(views.size());
  const View& first = *views[0];
  int order[kMaxDims];
  int kept = 0;
  for (int d = 0; d < first.ndim; ++d) {
    joint.numel *= first.sizes[d];
    if (first.sizes[d] != 1) order[kept++] = d;
  }
  // Where the first view repeats elements, the next one decides.
  std::stable_sort(order, order + kept, [&](int a, int b) {
    for (const View* view : views) {
      const int64_t left = std::abs(view->strides[a]), right = std::abs(view->strides[b]);
      if (left != right && left != 0 && right != 0) return left > right;
    }
    return false;
  });
  for (int i = 0; i < kept; ++i) {
    const int d = order[i];
    auto follows = [&](int v) {
      return joint.strides[v][joint.ndim - 1] == views[static_cast<size_t>(v)]->strides[d] * first.sizes[d];
    };
    bool joins = joint.ndim > 0;
    for (int v = 0; joins && v < joint.views; ++v) joins = follows(v);
    if (!joins) joint.sizes[joint.ndim++] = 1;
    joint.sizes[joint.ndim - 1] *= first.sizes[d];
    for (int v = 0; v < joint.views; ++v) joint.strides[v][joint.ndim - 1] = views[static_cast<size_t>(v)]->strides[d];
  }
  return joint;
}

}  // namespace adjoint::cuda
