// Elements on a device sorted together with the places that they came from.
#pragma once

#include <cstdint>
#include <optional>

#include "cuda/allocator.h"

namespace adjoint::cuda {

/// The most elements of one sort: places have 32 bits.
inline constexpr int64_t kMostKeys = int64_t{1} << 31;

struct RadixArgs;

/// Where places begin behind n elements of this size.
inline int64_t places_offset(int64_t n, int64_t size) { return (n * size + 3) / 4 * 4; }

/// Sorts what `args` says of `in`, `out`, `places`, `n`, `row`, `wide` and `flip`, stably, by the lower `bits` of the
/// keys of elements of this type, and of so many bytes. NaN is the greatest, and the zeros are equal.
void sort_by_digits(Device device, RadixArgs args, const char* type, int64_t size, int bits);

/// Room for n keys of `bits` bits and their places, which are then sorted in it.
class KeySort {
 public:
  KeySort(int64_t n, int bits, Device device);

  /// Where the keys are to be written.
  char* keys() const { return keys_; }
  uint32_t* places() const { return places_; }
  const char* key_type() const { return key_bytes_ == 4 ? "uint32_t" : "uint64_t"; }

  /// Sorts the keys, stably. Then keys() are in order and places() say where they were.
  void sort();

 private:
  int64_t n_, key_bytes_;
  int bits_;
  Device device_;
  Scratch memory_;
  char *keys_, *other_keys_;
  uint32_t *places_, *other_places_;
};

}  // namespace adjoint::cuda
