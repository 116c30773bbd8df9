// Several views of the same sizes as few dimensions as they can have.
#pragma once

#include <cstdint>
#include <span>

#include "core/view.h"

namespace adjoint::cuda {

/// The sizes of a group of views, and the strides of each, in elements. Dimensions of one element are gone, and
/// neighbours that lie side by side in all of the views are one. The last dimension has the least stride of the first
/// view.
struct Geometry {
  static constexpr int kMaxViews = 9;
  int views = 0;
  int ndim = 0;
  int64_t numel = 1;
  int64_t sizes[kMaxDims];
  int64_t strides[kMaxViews][kMaxDims];

  /// Whether the elements of a view lie one after the other, in the order of the others'.
  bool is_packed(int view) const { return ndim == 0 || (ndim == 1 && (strides[view][0] == 1 || sizes[0] == 1)); }
  /// Whether all elements are one and the same.
  bool is_single(int view) const {
    for (int d = 0; d < ndim; ++d)
      if (strides[view][d] != 0) return false;
    return true;
  }
};

Geometry joint_geometry(std::span<const View* const> views);

}  // namespace adjoint::cuda
