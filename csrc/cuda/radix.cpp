#include "cuda/radix.h"

#include <bit>
#include <utility>

#include "cuda/device/radix_args.h"
#include "cuda/launch.h"
#include "cuda/scan_counts.h"
#include "cuda/sort.h"

namespace adjoint::cuda {

KeySort::KeySort(int64_t n, int64_t key_bytes, Device device)
    : n_(n), key_bytes_(key_bytes), device_(device), memory_(static_cast<size_t>(2 * n * (key_bytes + 4)), device) {
  keys_ = memory_.data();
  other_keys_ = keys_ + n * key_bytes;
  places_ = reinterpret_cast<uint32_t*>(other_keys_ + n * key_bytes);
  other_places_ = places_ + n;
}

void KeySort::pass(int shift, int64_t row, bool first, uint32_t* counts) {
  const int64_t tiles = (n_ + kRadixTile - 1) / kRadixTile;
  RadixArgs args{keys_, first ? nullptr : places_, other_keys_, other_places_, counts, n_, tiles, row, shift};
  auto run = [&](const char* name) {
    const std::string call = std::string(name) + "<" + key_type() + ">";
    launch(device_, kernel_text("radix.h", "RadixArgs", call, kRadixThreads), args, tiles, kRadixThreads);
  };
  run("radix_count");
  scan_counts(device_, counts, kDigits * tiles);
  run("radix_move");
  std::swap(keys_, other_keys_);
  std::swap(places_, other_places_);
}

void KeySort::sort(int bits, int64_t row) {
  if (row == 0 && n_ <= kShortRow) {
    sort_pairs(device_, keys_, key_bytes_, n_, other_keys_, other_places_);
    std::swap(keys_, other_keys_);
    std::swap(places_, other_places_);
    return;
  }
  const int64_t tiles = (n_ + kRadixTile - 1) / kRadixTile;
  Scratch counts(static_cast<size_t>(kDigits * tiles + 1) * sizeof(uint32_t), device_);
  auto* room = reinterpret_cast<uint32_t*>(counts.data());
  bool first = true;
  for (int shift = 0; shift < bits || first; shift += 8, first = false) pass(shift, 0, first, room);
  const int row_bits = row ? std::bit_width(static_cast<uint64_t>(n_ / row - 1)) : 0;
  for (int shift = 0; shift < row_bits; shift += 8) pass(shift, row, false, room);
}

}  // namespace adjoint::cuda
