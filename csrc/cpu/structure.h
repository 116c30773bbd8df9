// Kernels on the structure of matrices and sorted or counted data: triangles, bincount, searchsorted.
#pragma once

#include <cstdint>
#include <utility>

#include "kernels/view.h"

namespace adjoint::cpu {

/// The lower (tril) or upper (triu) triangle of the last two dimensions, zero elsewhere. Diagonal 0 is the main one,
/// positive ones lie above it. `out` may be `in` itself.
void tril(const View& in, int64_t diagonal, const View& out);
void triu(const View& in, int64_t diagonal, const View& out);

/// Of n > 0 values.
std::pair<int64_t, int64_t> least_and_greatest(const int64_t* values, int64_t n);
/// counts[b] = how often first + b occurs among the values, all of which have a bin.
void bincount(const int64_t* values, int64_t n, int64_t first, int64_t* counts, int64_t bins);

/// The places in `sorted` (1-D, or with the leading sizes of `values`) where `values` would be inserted to keep its
/// last dimension sorted: before equal elements, or after them where `right`. `out` is Int64 with the sizes of
/// `values`.
void searchsorted(const View& sorted, const View& values, const View& out, bool right);

}  // namespace adjoint::cpu
