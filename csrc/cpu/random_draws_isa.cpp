#include "cpu/random_draws_isa.h"

#include "core/generator.h"

namespace adjoint {
namespace {

inline uint32_t twist(uint32_t current, uint32_t following, uint32_t ahead) {
  uint32_t mixed = (current & 0x80000000u) | (following & 0x7fffffffu);
  return ahead ^ (mixed >> 1) ^ (-(following & 1u) & 0x9908b0dfu);
}

void temper(const uint32_t* __restrict state, uint32_t* __restrict out, int count) {
  for (int i = 0; i < count; ++i) out[i] = tempered(state[i]);
}

void advance(uint32_t* state) {
  constexpr int n = Twister::kWords, m = 397;
  for (int i = 0; i < n - m; ++i) state[i] = twist(state[i], state[i + 1], state[i + m]);
  for (int i = n - m; i < n - 1; ++i) state[i] = twist(state[i], state[i + 1], state[i + m - n]);
  state[n - 1] = twist(state[n - 1], state[0], state[m - 1]);
}

constexpr TwisterLoops kLoops = {.advance = advance, .temper = temper};

}  // namespace

template <Isa>
TwisterLoops TwisterLoops::compiled() {
  return kLoops;
}
template TwisterLoops TwisterLoops::compiled<kIsa>();

}  // namespace adjoint
