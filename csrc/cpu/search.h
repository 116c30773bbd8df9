// The CPU's searching and counting, which kernels/search.h describes.
#pragma once

#include "kernels/search.h"

namespace adjoint::cpu {

void searchsorted(const View& sorted, const View& values, const View& out, bool right);
std::pair<int64_t, int64_t> least_and_greatest(const View& values);
void bincount(const View& values, const View& counts);

/// The same of n > 0 values in memory.
std::pair<int64_t, int64_t> least_and_greatest(const int64_t* values, int64_t n);
/// counts[b] = how often first + b occurs.
void bincount(const int64_t* values, int64_t n, int64_t first, int64_t* counts, int64_t bins);

}  // namespace adjoint::cpu
