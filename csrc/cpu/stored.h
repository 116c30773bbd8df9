// Converting elements of stored types. See Note [Stored types] in core/dtype.h.
#pragma once

#include <cstdint>

#include "core/dtype.h"

namespace adjoint::cpu {

/// Converts `n` packed elements where one of the two types, or both, are stored.
void convert_stored(DType from, const void* src, DType to, void* dst, int64_t n);

}  // namespace adjoint::cpu
