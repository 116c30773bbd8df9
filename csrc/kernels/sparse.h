// What sparse tensors are computed with: entries grouped by where they are, and products with rows of dense matrices.
// All views are packed, but for the matrices of products, whose rows are.
#pragma once

#include <cstdint>

#include "core/view.h"

namespace adjoint::kernels {

/// Entries of a matrix, row after row: those of row i are numbers starts[i] up to starts[i + 1] of `order`, or of the
/// entries themselves where that is null. `columns` and `values` are by entry; all but the values are Int64.
struct SparseRows {
  View starts;
  const View* order;
  View columns, values;
};

struct Sparse {
  /// Sorts keys that are at least 0 and below `bound`; equal ones stay in their order. `order` is which entry comes at
  /// each place, `groups` for each entry which of the distinct keys it has, and `starts`, with room for one more than
  /// there are entries, where each of these begins; returns how many there are. All are Int64.
  int64_t (*group)(const View& keys, int64_t bound, const View& order, const View& groups, const View& starts);
  /// out[i] is the sum of the rows of `values` that group i names, in their order; rows may have several elements.
  void (*sum_groups)(const View& values, const View& order, const View& starts, const View& out);
  /// out = rows @ dense; false where an entry names a row that `dense` does not have.
  bool (*product)(const SparseRows& rows, const View& dense, const View& out);
  /// out[e] is the product of row row[e] of `first` with row column[e] of `second`; false as above.
  bool (*sampled)(const View& row, const View& column, const View& first, const View& second, const View& out);
  /// out is what rows @ out = dense asks for, of a triangular matrix: entries on the other side of the diagonal do not
  /// count, nor do those on it where it is `unit`. False as above.
  bool (*solve)(const SparseRows& rows, bool upper, bool unit, const View& dense, const View& out);
};

}  // namespace adjoint::kernels
