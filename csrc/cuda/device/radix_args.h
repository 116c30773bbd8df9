// The parameter of a pass of the radix sort.
#pragma once

#include <cstdint>

namespace adjoint::cuda {

inline constexpr int kRadixThreads = 256, kRadixEach = 16, kDigits = 256;
inline constexpr int64_t kRadixTile = kRadixThreads * kRadixEach;  ///< keys of a block

/// Places say which key of the first input a key was; null: the keys are in their first order.
struct RadixArgs {
  const void* keys;
  const uint32_t* places;
  void* sorted_keys;
  uint32_t* sorted_places;
  uint32_t* counts;  ///< of digit d in tile t at d * tiles + t; then where these begin
  int64_t n, tiles;
  int64_t row;  ///< 0: digits are of the keys; else of the rows of so many keys in which they were
  int32_t shift;
};

}  // namespace adjoint::cuda
