// Elements looked up and counted: places in sorted rows, counts of values, histograms.
#pragma once

#include <cstdint>
#include <utility>

#include "core/view.h"

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

  /// The least and the greatest of a packed view of floating type.
  std::pair<double, double> (*bounds)(const View& in);
  /// How many elements lie in each equal part of a range, as many as `out` has; both are packed and of one type.
  void (*histc)(const View& in, double min, double max, const View& out);
  /// How many points, the rows of a packed matrix, or how much of their weight lies in each cell of the grid that the
  /// edges make, a row for each dimension of `out`; `even`: they are the same distance apart.
  void (*histogram)(const View& points, const View* edges, bool even, const View* weight, const View& out);
};

}  // namespace adjoint::kernels
