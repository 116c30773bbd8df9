// Elements that are moved without looking at what they mean: their size is all that counts.
#pragma once

#include <cstdint>

#include "core/dtype.h"

namespace adjoint::cpu {

template <class U>
struct [[gnu::may_alias]] Word {
  using Bits = U;
  U bits;
};
struct [[gnu::may_alias]] DoubleWord {
  uint64_t low, high;
};

/// Calls `f(W{})` with the word of this many bytes.
template <class F>
auto dispatch_size(int64_t itemsize, F&& f) {
  switch (itemsize) {
    case 1: return f(Word<uint8_t>{});
    case 2: return f(Word<uint16_t>{});
    case 4: return f(Word<uint32_t>{});
    case 8: return f(Word<uint64_t>{});
    default: return f(DoubleWord{});
  }
}
template <class F>
auto dispatch_size(DType dtype, F&& f) {
  return dispatch_size(itemsize(dtype), f);
}

}  // namespace adjoint::cpu
