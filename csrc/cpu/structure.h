// The CPU's triangles, turned rows and runs, which kernels/structure.h describes; and bincount, searchsorted.
#pragma once

#include <cstdint>
#include <utility>

#include "kernels/structure.h"

namespace adjoint::cpu {

void tril(const View& in, int64_t diagonal, const View& out);
void triu(const View& in, int64_t diagonal, const View& out);
void roll(const View& in, int dim, int64_t start, const View& out);
int64_t total_repeats(const View& repeats);
void check_repeats(const View& repeats, int64_t expected);
void repeat_places(const View& repeats, const View& out);

/// Of n > 0 values.
std::pair<int64_t, int64_t> least_and_greatest(const int64_t* values, int64_t n);
/// counts[b] = how often first + b occurs among the values, all of which have a bin.
void bincount(const int64_t* values, int64_t n, int64_t first, int64_t* counts, int64_t bins);

/// The places in `sorted` (1-D, or with the leading sizes of `values`) where `values` would be inserted to keep its
/// last dimension sorted: before equal elements, or after them where `right`. `out` is Int64 with the sizes of
/// `values`.
void searchsorted(const View& sorted, const View& values, const View& out, bool right);

}  // namespace adjoint::cpu
