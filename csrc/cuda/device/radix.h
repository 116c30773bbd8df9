// A stable sort of keys by eight bits, of which the passes from the least bits on make a whole sort: digits are counted
// tile by tile, and then every key goes to its place.
#pragma once

#include "kernel.h"
#include "radix_args.h"

namespace adjoint::cuda {

template <class Key>
inline unsigned digit_of(const RadixArgs& args, Key key, uint32_t place) {
  if (args.row) return static_cast<unsigned>(place / static_cast<uint32_t>(args.row) >> args.shift) & 255u;
  return static_cast<unsigned>(key >> args.shift) & 255u;
}

inline uint32_t place_at(const RadixArgs& args, int64_t i) {
  return args.places ? args.places[i] : static_cast<uint32_t>(i);
}

template <class Key>
inline void radix_count(const RadixArgs& args) {
  __shared__ unsigned counts[kDigits];
  counts[threadIdx.x] = 0;
  __syncthreads();
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kRadixTile + threadIdx.x;
#pragma unroll 4
  for (int r = 0; r < kRadixEach; ++r) {
    const int64_t i = first + r * kRadixThreads;
    if (i < args.n) atomicAdd(&counts[digit_of(args, static_cast<const Key*>(args.keys)[i], place_at(args, i))], 1u);
  }
  __syncthreads();
  args.counts[threadIdx.x * args.tiles + blockIdx.x] = counts[threadIdx.x];
}

/// Each warp has a stretch of the tile, which it goes through 32 keys at a time; lanes with the same digit find one
/// another, and the first of them moves the digit's next place on.
template <class Key>
inline void radix_move(const RadixArgs& args) {
  constexpr int kWarps = kRadixThreads / 32;
  __shared__ unsigned next[kWarps][kDigits];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int w = 0; w < kWarps; ++w) next[w][threadIdx.x] = 0;
  __syncthreads();
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kRadixTile + warp * (32 * kRadixEach) + lane;
  Key keys[kRadixEach];
  uint32_t places[kRadixEach];
  unsigned digits[kRadixEach];
#pragma unroll
  for (int r = 0; r < kRadixEach; ++r) {
    const int64_t i = first + r * 32;
    digits[r] = kDigits;  // behind the end
    if (i < args.n) {
      keys[r] = static_cast<const Key*>(args.keys)[i];
      places[r] = place_at(args, i);
      digits[r] = digit_of(args, keys[r], places[r]);
      atomicAdd(&next[warp][digits[r]], 1u);
    }
  }
  __syncthreads();
  unsigned start = args.counts[threadIdx.x * args.tiles + blockIdx.x];
  for (int w = 0; w < kWarps; ++w) {
    const unsigned here = next[w][threadIdx.x];
    next[w][threadIdx.x] = start;
    start += here;
  }
  __syncthreads();
#pragma unroll
  for (int r = 0; r < kRadixEach; ++r) {
    const unsigned same = __match_any_sync(~0u, digits[r]);
    const unsigned before = __popc(same & ((1u << lane) - 1u));
    const bool inside = digits[r] < kDigits;
    unsigned to = 0;
    if (inside) to = next[warp][digits[r]] + before;
    __syncwarp();
    if (inside && before == 0) next[warp][digits[r]] = to + __popc(same);
    __syncwarp();
    if (inside) {
      static_cast<Key*>(args.sorted_keys)[to] = keys[r];
      args.sorted_places[to] = places[r];
    }
  }
}

}  // namespace adjoint::cuda
