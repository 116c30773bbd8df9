// Kernels on the structure of matrices and sorted or counted data: triangles, bincount, searchsorted.
#pragma once

#include <cstdint>

#include "kernels/view.h"

namespace adjoint::kernels {

/// The lower (tril) or upper (triu) triangle of the last two dimensions, zero elsewhere. Diagonal 0 is the main one,
/// positive ones lie above it. `out` may be `in` itself.
void tril(const View& in, int64_t diagonal, const View& out);
void triu(const View& in, int64_t diagonal, const View& out);

/// out[v] = how often v occurs in the 1-D Int64 `in`; `out` is 1-D Int64 with room for every value.
void bincount(const View& in, const View& out);

/// The places in `sorted` (1-D, or with the leading sizes of `values`) where `values` would be inserted to keep its
/// last dimension sorted: before equal elements, or after them where `right`. `out` is Int64 with the sizes of
/// `values`.
void searchsorted(const View& sorted, const View& values, const View& out, bool right);

}  // namespace adjoint::kernels
