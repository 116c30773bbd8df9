// Elements looked up and counted: places in sorted rows, counts of values.
#pragma once

#include <cstdint>
#include <utility>

#include "kernels/view.h"

namespace adjoint::kernels {

struct Search {
  /// The places in `sorted` (1-D, or with the leading sizes of `values`) where `values` would be inserted to keep its
  /// last dimension sorted: before equal elements, or after them where `right`. `out` is Int64 with the sizes of
  /// `values`.
  void (*searchsorted)(const View& sorted, const View& values, const View& out, bool right);

  /// Values are packed Int64, and some.
  std::pair<int64_t, int64_t> (*least_and_greatest)(const View& values);
  /// counts[b] = how often b occurs among the values, all of which have a bin; packed Int64.
  void (*bincount)(const View& values, const View& counts);
};

}  // namespace adjoint::kernels
