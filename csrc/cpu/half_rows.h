// Rows of half-precision numbers to and from floats.
#pragma once

#include "core/dtype.h"

namespace adjoint::cpu {

// Contiguous and not overlapping. The processor's own conversion is used where it has one.
void widen_row(const Half* in, float* out, int64_t n);
void narrow_row(const float* in, Half* out, int64_t n);
void widen_row(const BFloat16* in, float* out, int64_t n);
void narrow_row(const float* in, BFloat16* out, int64_t n);

}  // namespace adjoint::cpu
