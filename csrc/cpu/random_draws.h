// Draws from a Mersenne Twister. Who draws holds the generator's mutex.
#pragma once

#include "core/generator.h"
#include "cpu/random_draws_isa.h"

namespace adjoint {

/// The next `count` 32-bit draws.
void draw_words(Generator& generator, uint32_t* out, int64_t count);
/// Two 32-bit draws, the first in the upper half.
uint64_t draw_pair(Generator& generator);
/// One standard normal number.
double draw_normal(Generator& generator);

}  // namespace adjoint
