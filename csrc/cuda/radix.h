// Keys on a device sorted together with the places that they came from.
#pragma once

#include <cstdint>
#include <optional>

#include "cuda/allocator.h"

namespace adjoint::cuda {

/// The most keys of one sort: places have 32 bits.
inline constexpr int64_t kMostKeys = int64_t{1} << 31;

/// Room for n keys of 4 or 8 bytes and their places, which are then sorted in it.
class KeySort {
 public:
  KeySort(int64_t n, int64_t key_bytes, Device device);

  /// Where the keys are to be written.
  char* keys() const { return keys_; }
  uint32_t* places() const { return places_; }
  int64_t key_bytes() const { return key_bytes_; }
  const char* key_type() const { return key_bytes_ == 4 ? "uint32_t" : "uint64_t"; }

  /// Sorts, stably, by the lower bits of the keys; with `row`, each row of so many keys for itself. Then keys() are in
  /// order and places() say where they were.
  void sort(int bits, int64_t row = 0);

 private:
  void pass(int shift, int64_t row, bool first, uint32_t* counts);

  int64_t n_, key_bytes_;
  Device device_;
  Scratch memory_;
  char *keys_, *other_keys_;
  uint32_t *places_, *other_places_;
};

}  // namespace adjoint::cuda
