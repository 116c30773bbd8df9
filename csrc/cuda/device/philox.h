// Philox4x32-10 (J. Salmon and others, 2011): 128 random bits as a function of a key and a counter, here and on
// devices.
//
// Note [Counters]. A fill has an offset of its generator to itself, and its n-th counter is (offset, n): what an
// element gets depends on the seed, on the fills before, and on the element's place, and neither on the device nor on
// how the work was cut. Where an element draws until something is accepted its draws are (offset, element + (1 + k)
// 2^40). What a fill in a graph draws is settled when the graph is launched: see Note [Captured draws] in
// cuda/graphs.h.
#pragma once

#include <cstdint>

namespace adjoint::cuda {

inline constexpr uint32_t kPhiloxFirst = 0xD2511F53u, kPhiloxSecond = 0xCD9E8D57u;
inline constexpr int kPrivateBits = 40;

struct Words {
  uint32_t at[4];
  /// Words 2 i and 2 i + 1.
  constexpr uint64_t pair(int i) const { return static_cast<uint64_t>(at[2 * i]) << 32 | at[2 * i + 1]; }
};

constexpr Words philox(uint64_t seed, uint64_t offset, uint64_t number) {
  uint32_t a = static_cast<uint32_t>(offset), b = static_cast<uint32_t>(offset >> 32);
  uint32_t c = static_cast<uint32_t>(number), d = static_cast<uint32_t>(number >> 32);
  uint32_t left = static_cast<uint32_t>(seed), right = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t first = static_cast<uint64_t>(kPhiloxFirst) * a, second = static_cast<uint64_t>(kPhiloxSecond) * c;
    a = static_cast<uint32_t>(second >> 32) ^ b ^ left;
    b = static_cast<uint32_t>(second);
    c = static_cast<uint32_t>(first >> 32) ^ d ^ right;
    d = static_cast<uint32_t>(first);
    left += 0x9E3779B9u;
    right += 0xBB67AE85u;
  }
  return {{a, b, c, d}};
}

/// What a fill draws from. In a graph `state` is where its launch finds a seed and a fill's number, from which `fill`
/// counts; else null.
struct DrawKey {
  uint64_t seed, fill;
  const uint64_t* state;

  Words words(uint64_t number) const {
    return state ? philox(state[0], state[1] + fill, number) : philox(seed, fill, number);
  }
};

/// What a launch of a graph sets.
struct StateArgs {
  uint64_t* state;
  uint64_t seed, fill;
};

}  // namespace adjoint::cuda
