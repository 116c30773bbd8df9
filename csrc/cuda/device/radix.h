// A stable sort of keys by eight bits, of which the passes from the least bits on make a whole sort: digits are counted
// tile by tile, and then every key goes to its place.
#pragma once

#include "kernel.h"
#include "radix_args.h"
#include "running_sums.h"

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
/// another, and the first of them moves the digit's next place on. The tile is put in order in shared memory first:
/// then neighbours write to neighbouring places.
template <class Key>
inline void radix_move(const RadixArgs& args) {
  constexpr int kWarps = kRadixThreads / 32;
  __shared__ union {
    unsigned next[kWarps][kDigits];
    uint32_t places[kRadixTile];
    Key keys[kRadixTile];
  } shared;
  __shared__ unsigned away[kDigits], sums[33];  // how much further than in the tile a digit's keys go
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int w = 0; w < kWarps; ++w) shared.next[w][threadIdx.x] = 0;
  __syncthreads();
  const int64_t tile = static_cast<int64_t>(blockIdx.x) * kRadixTile;
  const int64_t first = tile + warp * (32 * kRadixEach) + lane;
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
      atomicAdd(&shared.next[warp][digits[r]], 1u);
    }
  }
  __syncthreads();
  unsigned mine = 0, all;
  for (int w = 0; w < kWarps; ++w) mine += shared.next[w][threadIdx.x];
  unsigned start = block_sum_before<kRadixThreads>(mine, sums, all);
  away[threadIdx.x] = args.counts[threadIdx.x * args.tiles + blockIdx.x] - start;
  for (int w = 0; w < kWarps; ++w) {
    const unsigned here = shared.next[w][threadIdx.x];
    shared.next[w][threadIdx.x] = start;
    start += here;
  }
  __syncthreads();
#pragma unroll
  for (int r = 0; r < kRadixEach; ++r) {
    const unsigned same = __match_any_sync(~0u, digits[r]);
    const unsigned before = __popc(same & ((1u << lane) - 1u));
    const bool inside = digits[r] < kDigits;
    unsigned to = kRadixTile;
    if (inside) to = shared.next[warp][digits[r]] + before;
    __syncwarp();
    if (inside && before == 0) shared.next[warp][digits[r]] = to + __popc(same);
    __syncwarp();
    digits[r] = to;  // from here on, the place in the tile
  }
  __syncthreads();
#pragma unroll
  for (int r = 0; r < kRadixEach; ++r)
    if (digits[r] < kRadixTile) shared.places[digits[r]] = places[r];
  __syncthreads();
#pragma unroll
  for (int r = 0; r < kRadixEach; ++r) places[r] = shared.places[r * kRadixThreads + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int r = 0; r < kRadixEach; ++r)
    if (digits[r] < kRadixTile) shared.keys[digits[r]] = keys[r];
  __syncthreads();
#pragma unroll
  for (int r = 0; r < kRadixEach; ++r) {
    const unsigned i = r * kRadixThreads + threadIdx.x;
    if (tile + i >= args.n) continue;
    const Key key = shared.keys[i];
    const unsigned to = away[digit_of(args, key, places[r])] + i;
    static_cast<Key*>(args.sorted_keys)[to] = key;
    args.sorted_places[to] = places[r];
  }
}

}  // namespace adjoint::cuda
