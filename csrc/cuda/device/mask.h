// Elements under a mask, in row-major order: counted tile by tile, then moved. A block has a tile, a thread one element
// of each round.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "mask_args.h"
#include "running_sums.h"
#include "walk.h"

namespace adjoint::cuda {

template <class T, class Index>
inline bool is_hit(const MaskArgs& args, int64_t number) {
  if (number >= args.walk.numel) return false;
  Index at[1];
  walk_to(args.walk, static_cast<Index>(number), at);
  return convert<bool>(reinterpret_cast<const T*>(args.mask)[at[0]]);
}

template <class T, class Index>
inline void count_hits(const MaskArgs& args) {
  __shared__ int shared[33];
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kMaskTile + threadIdx.x;
  int hits = 0, total;
#pragma unroll 4
  for (int r = 0; r < kMaskRounds; ++r) hits += is_hit<T, Index>(args, first + r * kMaskThreads);
  block_sum_before<kMaskThreads>(hits, shared, total);
  if (threadIdx.x == 0) args.starts[blockIdx.x] = total;
}

template <class T, class Index>
inline void refuse_zeros(const MaskArgs& args) {
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kMaskTile + threadIdx.x;
  bool all = true;
#pragma unroll 4
  for (int r = 0; r < kMaskRounds; ++r) {
    const int64_t number = first + r * kMaskThreads;
    all &= number >= args.walk.numel || is_hit<T, Index>(args, number);
  }
  check(all, args.fault, FaultKind::Refused, 0, args.words, 0);
}

/// Calls take(number of the element, number of the hit) for each hit.
template <class T, class Index, class Take>
inline void each_hit(const MaskArgs& args, Take take) {
  constexpr int kWarps = kMaskThreads / 32, kParts = kWarps * kMaskRounds;
  __shared__ int counts[kParts];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kMaskTile + threadIdx.x;
  unsigned hits[kMaskRounds];
#pragma unroll
  for (int r = 0; r < kMaskRounds; ++r) {
    hits[r] = __ballot_sync(~0u, is_hit<T, Index>(args, first + r * kMaskThreads));
    if (lane == 0) counts[r * kWarps + warp] = __popc(hits[r]);
  }
  __syncthreads();
  if (warp == 0) {
    constexpr int kEach = kParts / 32;
    int mine[kEach], sum = 0;
#pragma unroll
    for (int i = 0; i < kEach; ++i) sum += mine[i] = counts[lane * kEach + i];
    int start = warp_running_sum(sum) - sum;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      counts[lane * kEach + i] = start;
      start += mine[i];
    }
  }
  __syncthreads();
  const int64_t before = args.starts ? args.starts[blockIdx.x] : 0;
#pragma unroll
  for (int r = 0; r < kMaskRounds; ++r)
    if (hits[r] >> lane & 1u)
      take(first + r * kMaskThreads, before + counts[r * kWarps + warp] + __popc(hits[r] & ((1u << lane) - 1u)));
}

template <class Index>
inline Index masked_place(const MaskArgs& args, int64_t number) {
  Index at[2];
  walk_to(args.walk, static_cast<Index>(number), at);
  return at[1];
}

/// The first of them, as many as there is room for.
template <class Word, class Index>
inline void masked_select(const MaskArgs& args) {
  each_hit<bool, Index>(args, [&](int64_t number, int64_t hit) {
    if (hit < args.flat_size)
      reinterpret_cast<Word*>(args.flat)[hit * args.flat_step] =
          reinterpret_cast<const Word*>(args.view)[masked_place<Index>(args, number)];
  });
}

template <class Word, class Index>
inline void masked_scatter(const MaskArgs& args) {
  each_hit<bool, Index>(args, [&](int64_t number, int64_t hit) {
    if (check(hit < args.flat_size, args.fault, FaultKind::Index, 0, hit, args.flat_size))
      reinterpret_cast<Word*>(args.view)[masked_place<Index>(args, number)] =
          reinterpret_cast<const Word*>(args.flat)[hit * args.flat_step];
  });
}

template <class T, class Index>
inline void nonzero(const MaskArgs& args) {
  each_hit<T, Index>(args, [&](int64_t number, int64_t hit) {
    if (hit >= args.flat_size) return;
    int64_t* row = reinterpret_cast<int64_t*>(args.flat) + hit * args.flat_step;
    Index rest = static_cast<Index>(number);
#pragma unroll 1
    for (int d = args.dims - 1; d >= 0; --d) {
      const Index size = static_cast<Index>(args.sizes[d]), quotient = rest / size;
      row[d * args.column_step] = static_cast<int64_t>(rest - quotient * size);
      rest = quotient;
    }
  });
}

}  // namespace adjoint::cuda
