// Draws from a Mersenne Twister. Who draws holds the generator's mutex.
#pragma once

#include "core/generator.h"

namespace adjoint {

/// The bits of a 64-bit draw that a double in [0, 1) is made from.
inline constexpr uint64_t kMask53 = (uint64_t{1} << 53) - 1;

/// The next `count` 32-bit draws.
void draw_words(Generator& generator, uint32_t* out, int64_t count);
/// Two 32-bit draws, the first in the upper half.
uint64_t draw_pair(Generator& generator);
/// One standard normal number.
double draw_normal(Generator& generator);

}  // namespace adjoint
