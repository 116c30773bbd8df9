// Rows of half-precision numbers to and from floats. They are contiguous and do not overlap.
#pragma once

#include "cpu/copy_isa.h"

namespace adjoint::cpu {

template <class Narrow>
void widen_row(const Narrow* in, float* out, int64_t n) {
  chosen<CopyLoops>.convert[static_cast<int>(DTypeOf<Narrow>::value)][static_cast<int>(DType::Float32)](in, out, n);
}
template <class Narrow>
void narrow_row(const float* in, Narrow* out, int64_t n) {
  chosen<CopyLoops>.convert[static_cast<int>(DType::Float32)][static_cast<int>(DTypeOf<Narrow>::value)](in, out, n);
}

}  // namespace adjoint::cpu
