// Elements told apart: distinct values and rows. Complex numbers, which have no order, do not occur.
#pragma once

#include <cstdint>

#include "core/view.h"

namespace adjoint::kernels {

struct Unique {
  /// The distinct elements in order (`consecutive`: one of each run) at the first places of `values`, which has room
  /// for all of them; returns how many. Every NaN counts for itself. Where they are not null, `inverse` is which of
  /// them each element is, and `counts`, with the same room, how often each occurs. `in` may have any strides, the
  /// others are packed, the last two Int64.
  int64_t (*elements)(const View& in, bool consecutive, const View& values, const View* inverse, const View* counts);
  /// The same for the rows of a matrix, ordered by their first difference: `firsts` is where the first of each is.
  int64_t (*rows)(const View& in, bool consecutive, const View& firsts, const View& inverse, const View& counts);
};

}  // namespace adjoint::kernels
