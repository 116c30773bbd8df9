// Elements of half types, as the libraries of the stand-in read and write them.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace {

struct HalfBits {
  uint16_t bits;
};
struct BrainBits {
  uint16_t bits;
};

template <class T>
inline T load(T x) {
  return x;
}
inline float load(HalfBits x) { return static_cast<float>(std::bit_cast<_Float16>(x.bits)); }
inline float load(BrainBits x) { return std::bit_cast<float>(static_cast<uint32_t>(x.bits) << 16); }
template <class T>
inline void store(T& to, T x) {
  to = x;
}
inline void store(HalfBits& to, float x) { to.bits = std::bit_cast<uint16_t>(static_cast<_Float16>(x)); }
inline void store(BrainBits& to, float x) {
  const auto word = std::bit_cast<uint32_t>(x);
  to.bits = std::isnan(x) ? 0x7fc0 : static_cast<uint16_t>((word + 0x7fff + ((word >> 16) & 1)) >> 16);
}

}  // namespace
