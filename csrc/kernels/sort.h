// Sorting and selection along one dimension. NaN counts as the greatest value, as in torch; complex dtypes throw.
// Values have the input's dtype, indices are Int64. 0-d counts as one element.
#pragma once

#include "core/view.h"

namespace adjoint::kernels {

struct Sort {
  /// Always stable: equal elements come in index order. Outputs have the input's shape.
  void (*sort)(const View& in, const View& values, const View& indices, int dim, bool descending);
  /// The k greatest (least), sorted; outputs have size k in `dim`. Equal elements come in index order.
  void (*topk)(const View& in, const View& values, const View& indices, int64_t k, int dim, bool largest);
  /// The k-th least, k from 1; outputs have size 1 in `dim`.
  void (*kthvalue)(const View& in, const View& values, const View& indices, int64_t k, int dim);
  /// The lower median. The first NaN wins unless `ignore_nan`; then NaNs count only if there is nothing else.
  void (*median)(const View& in, const View& values, const View& indices, int dim, bool ignore_nan);
  /// The least of the most frequent elements, and its last index. Every NaN counts for itself, after all numbers.
  void (*mode)(const View& in, const View& values, const View& indices, int dim);
};

}  // namespace adjoint::kernels
