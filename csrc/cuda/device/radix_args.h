// The parameter of the radix sort.
#pragma once

#include <cstdint>

namespace adjoint::cuda {

inline constexpr int kRadixThreads = 384, kCountThreads = 512, kDigits = 256;
inline constexpr int kDigitCopies = 4;  ///< counters of a digit, among which neighbouring threads share
inline constexpr int kMostPasses = 12;  ///< 8 of a key, and more of rows
inline constexpr int kLookedAt = 8;     ///< tiles that are looked at together

/// Elements of a thread of a tile.
constexpr int radix_each(int64_t size) { return size == 8 ? 8 : 16; }

/// What the blocks of a sort tell one another, in words that are all zero at first: this, then where the digits of each
/// pass begin, then what each tile says of its digits, pass by pass.
struct RadixState {
  uint32_t counted;               ///< blocks that have counted their digits
  uint32_t active;                ///< passes in which elements differ
  uint32_t tickets[kMostPasses];  ///< tiles begun
};

/// Elements go from `in` to `out` and `other` by turns, so that the last pass that moves any writes to `out`.
struct RadixArgs {
  const void* in;
  void *out, *other;
  void* places;  ///< where elements were; null: not asked for
  uint32_t* other_places;
  RadixState* state;
  int64_t n, tiles;
  int64_t row;                   ///< 0: all is one row; else rows of so many elements are sorted each for itself
  int32_t wide;                  ///< places are written as 64 bits, counted from the beginning of their row
  int32_t flip;                  ///< the greatest first
  int32_t skips;                 ///< passes in which elements do not differ are left out
  int32_t key_passes, key_bits;  ///< passes over digits of keys of so many bits; later ones are over those of rows
  int32_t passes, row_bits, pass;
};

}  // namespace adjoint::cuda
