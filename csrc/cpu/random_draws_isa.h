// The loops of the Mersenne Twister over the words of its state. See Note [Instruction sets] in cpu/isa.h.
#pragma once

#include <cstdint>

#include "cpu/isa.h"

namespace adjoint {

/// The bits of a 64-bit draw that a double in [0, 1) is made from.
inline constexpr uint64_t kMask53 = (uint64_t{1} << 53) - 1;

struct TwisterLoops {
  /// The next 624 words, in the place of the last ones.
  void (*advance)(uint32_t* state);
  /// The draws that `count` words of the state stand for.
  void (*temper)(const uint32_t* state, uint32_t* out, int count);

  template <Isa>
  static TwisterLoops compiled();
};

}  // namespace adjoint
