// Copying between strided views, with conversion when the element types differ.
#pragma once

#include <cstdint>

#include "core/scalar.h"
#include "core/view.h"

namespace adjoint::cpu {

/// dst[...] = convert(src[...]). The sizes must be equal. Views that overlap give an unspecified result, except that
/// copying a view onto itself does nothing.
void copy(const View& src, const View& dst);
/// memcpy at full speed wherever the two lie.
void copy_bytes(const char* src, char* dst, int64_t n);

/// Writes the same element everywhere; `value` points at one element of the type of `dst`.
void fill(const View& dst, const void* value);

/// Writes zeros into a view whose elements lie side by side, in whatever order.
void clear(const View& dst);

/// Writes what shows that nothing was written yet: nan, the largest integer or True.
void fill_unset(const View& dst);

void enumerate(const View& dst);
/// The value of a view of one element.
Scalar read(const View& from);
/// Converts `n` packed elements from one type to another. The two ranges must not overlap.
void convert_contiguous(DType from, const void* src, DType to, void* dst, int64_t n);

/// Packs `n` elements that lie `stride` elements apart.
void gather_strided(const void* src, int64_t stride, int64_t itemsize, void* dst, int64_t n);

/// Spreads `n` packed elements so that they lie `stride` elements apart.
void scatter_strided(const void* src, void* dst, int64_t stride, int64_t itemsize, int64_t n);

}  // namespace adjoint::cpu
