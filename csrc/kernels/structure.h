// Elements kept or moved by their place alone: triangles of matrices, rows turned round, runs of places.
#pragma once

#include <cstdint>

#include "core/view.h"

namespace adjoint::kernels {

struct Structure {
  using Triangle = void(const View& in, int64_t diagonal, const View& out);

  /// The lower (tril) or upper (triu) triangle of the last two dimensions, zero elsewhere. Diagonal 0 is the main one,
  /// positive ones lie above it. `out` may be `in` itself.
  Triangle* tril;
  Triangle* triu;

  /// The coordinates (2, n) of the entries on and below (`lower`), or on and above, a diagonal, row by row; packed, of
  /// Int64 or Int32.
  void (*triangle_places)(int64_t row, int64_t col, int64_t offset, bool lower, const View& out);

  /// The elements of `dim` from `start` on, and then those before it. Both views are packed and hold elements.
  void (*roll)(const View& in, int dim, int64_t start, const View& out);

  /// Repeats are packed Int64. Fails where one is negative; returns what they add up to.
  int64_t (*total_repeats)(const View& repeats);
  /// Fails unless the repeats add up to `expected`.
  void (*check_repeats)(const View& repeats, int64_t expected);
  /// i as often as repeats[i] says, for all i; `out` is packed Int64 and as long as the repeats add up to.
  void (*repeat_places)(const View& repeats, const View& out);
};

}  // namespace adjoint::kernels
