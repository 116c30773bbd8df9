// Sorting and selection on a device, which kernels/sort.h describes.
#pragma once

#include <cstdint>

#include "core/view.h"

namespace adjoint::cuda {

/// Rows of so many elements are sorted in the memory that a block shares.
inline constexpr int64_t kShortRow = 4096;

void sort(const View& in, const View& values, const View& indices, int dim, bool descending);
void topk(const View& in, const View& values, const View& indices, int64_t k, int dim, bool largest);
void kthvalue(const View& in, const View& values, const View& indices, int64_t k, int dim);
void median(const View& in, const View& values, const View& indices, int dim, bool ignore_nan);
void mode(const View& in, const View& values, const View& indices, int dim);

/// n keys, at most kShortRow, in order, and the places where they were.
void sort_pairs(Device device, const char* keys, int64_t key_bytes, int64_t n, char* sorted_keys,
                uint32_t* sorted_places);

}  // namespace adjoint::cuda
