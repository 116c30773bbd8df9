#include "cuda/radix.h"

#include <algorithm>
#include <bit>

#include "cuda/device/radix_args.h"
#include "cuda/launch.h"
#include "cuda/sort.h"
#include "cuda/walk.h"

namespace adjoint::cuda {
namespace {

constexpr int kDigitBits = 8;

int passes_for(int bits) { return std::max(1, (bits + kDigitBits - 1) / kDigitBits); }
/// Digits of all passes are equally long.
int digit_bits(int bits) { return std::max(1, (bits + passes_for(bits) - 1) / passes_for(bits)); }

/// Sorts with room that may be the input itself, where no pass reads and writes the same.
void run_passes(Device device, RadixArgs& args, const char* type, int64_t size, int bits) {
  const int64_t rows = args.row ? args.n / args.row : 1;
  const int row_bits = std::bit_width(static_cast<uint64_t>(rows - 1));
  args.key_passes = passes_for(bits);
  args.key_bits = digit_bits(bits);
  args.passes = args.key_passes + (row_bits ? passes_for(row_bits) : 0);
  args.row_bits = digit_bits(row_bits);
  const int64_t tile = kRadixThreads * radix_each(size);
  args.tiles = (args.n + tile - 1) / tile;
  const auto words = static_cast<size_t>(args.passes * kDigits * (1 + args.tiles));
  const size_t bytes = sizeof(RadixState) + words * sizeof(uint32_t);
  const Scratch state(bytes, device);
  const int64_t enough = 4 * use(device).multiprocessors;
  check(driver().set_bytes(reinterpret_cast<Pointer>(state.data()), 0, bytes, current_stream(device)),
        "clearing what tiles tell");
  args.state = reinterpret_cast<RadixState*>(state.data());
  const std::string counting =
      kernel_text("radix.h", "RadixArgs", std::string("radix_count<") + type + ">", kCountThreads);
  auto moving = [&](const char* by_row) {
    const std::string call = std::string("radix_pass<") + type + ", " + by_row + ">";
    return kernel_text("radix.h", "RadixArgs", call, kRadixThreads, size == 8 ? 3 : 2);
  };
  const std::string by_key = moving("false");
  if (is_new(device.index, counting)) compile_ahead(device.index, by_key);
  const auto counters = static_cast<size_t>(args.passes * kDigits * kDigitCopies);
  launch(device, counting, args, std::min(blocks_for(args.n, kCountThreads), enough), kCountThreads, 1,
         counters * sizeof(unsigned));
  for (args.pass = 0; args.pass < args.key_passes; ++args.pass) launch(device, by_key, args, args.tiles, kRadixThreads);
  for (; args.pass < args.passes; ++args.pass) launch(device, moving("true"), args, args.tiles, kRadixThreads);
}

}  // namespace

void sort_by_digits(Device device, RadixArgs args, const char* type, int64_t size, int bits) {
  const int64_t places = args.places ? args.n * 4 : 0, elements = places_offset(args.n, size);
  const Scratch other(static_cast<size_t>(elements + places), device);
  args.other = other.data();
  args.other_places = reinterpret_cast<uint32_t*>(other.data() + elements);
  args.skips = true;
  run_passes(device, args, type, size, bits);
}

KeySort::KeySort(int64_t n, int bits, Device device)
    : n_(n),
      key_bytes_(bits <= 32 ? 4 : 8),
      bits_(bits),
      device_(device),
      memory_(static_cast<size_t>(2 * n * (key_bytes_ + 4)), device) {
  keys_ = memory_.data();
  other_keys_ = keys_ + n * key_bytes_;
  places_ = reinterpret_cast<uint32_t*>(other_keys_ + n * key_bytes_);
  other_places_ = places_ + n;
}

void KeySort::sort() {
  if (n_ <= kShortRow) {
    sort_pairs(device_, keys_, key_bytes_, n_, other_keys_, places_);
    std::swap(keys_, other_keys_);
    return;
  }
  RadixArgs args{};
  args.in = keys_;
  // The first pass must not write to where it reads.
  if (passes_for(bits_) % 2 == 1) std::swap(keys_, other_keys_);
  args.out = keys_;
  args.other = other_keys_;
  args.places = places_;
  args.other_places = other_places_;
  args.n = n_;
  run_passes(device_, args, key_type(), key_bytes_, bits_);
}

}  // namespace adjoint::cuda
