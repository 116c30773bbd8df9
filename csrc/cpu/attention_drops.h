// Which weights of attention are dropped, here and on devices: what forward and backward agree upon without a matrix
// that says so.
#pragma once

#include <cstdint>

namespace adjoint {

/// A bijection of 32 bits whose results look drawn: the mixing steps of C. Wellons' lowbias32.
constexpr uint32_t mixed_bits(uint32_t x) {
  x = (x ^ x >> 16) * 0x7feb352du;
  x = (x ^ x >> 15) * 0x846ca68bu;
  return x ^ x >> 16;
}

/// The weights of one row, by its number among those of all heads.
struct DropRow {
  uint32_t first, second;

  static constexpr DropRow of(const int64_t* draws, int64_t number) {
    const uint64_t a = static_cast<uint64_t>(draws[0]), b = static_cast<uint64_t>(draws[1]);
    const auto low = static_cast<uint32_t>(number), high = static_cast<uint32_t>(static_cast<uint64_t>(number) >> 32);
    const uint32_t first =
        mixed_bits(mixed_bits(low ^ static_cast<uint32_t>(a)) ^ high ^ static_cast<uint32_t>(a >> 32));
    return {first, mixed_bits(first ^ static_cast<uint32_t>(b)) ^ static_cast<uint32_t>(b >> 32)};
  }
  /// `below`: 2^32 times the probability.
  constexpr bool drops(int64_t key, uint32_t below) const {
    return (mixed_bits(static_cast<uint32_t>(key) ^ first) ^ second) * 0x9e3779b1u < below;
  }
};

/// A probability as the words below a number, and what the weights that are kept are multiplied by.
struct DropRate {
  uint32_t below;
  double factor;

  static DropRate of(double dropped) {
    const double words = dropped * 4294967296.0;
    // 1 less than one is as near as a word comes to one; nothing is left then, whatever is kept.
    return {words < 4294967295.0 ? static_cast<uint32_t>(words) : 4294967295u, dropped < 1 ? 1 / (1 - dropped) : 0.0};
  }
};

}  // namespace adjoint
