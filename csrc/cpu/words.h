// Elements that are moved without looking at what they mean: their size is all that counts.
#pragma once

#include <cstdint>

#include "core/dtype.h"

namespace adjoint::cpu {

/// A stored word may change anything in memory, for all that the compiler knows: what a loop over words needs must be
/// its own values, or it is read again for every element.
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

/// Copies n words between places that lie `from_step` and `to_step` words apart.
template <class W>
void move_words(const W* from, int64_t from_step, W* to, int64_t to_step, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i * to_step] = from[i * from_step];
}

}  // namespace adjoint::cpu
