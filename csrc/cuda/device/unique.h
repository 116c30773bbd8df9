// Groups of equal neighbours: counted tile by tile, then numbered.
#pragma once

#include "core/dtype.h"
#include "running_sums.h"
#include "unique_args.h"

namespace adjoint::cuda {

/// Every NaN begins a group, being equal to nothing.
template <class T>
inline bool begins_group(const UniqueArgs& args, int64_t i) {
  using C = std::conditional_t<is_half_v<T>, float, T>;
  if (i >= args.n) return false;
  const T* x = reinterpret_cast<const T*>(args.sorted);
  return i == 0 || !(convert<C>(x[i]) == convert<C>(x[i - 1]));
}

template <class T>
inline void count_groups(const UniqueArgs& args) {
  __shared__ int shared[33];
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kUniqueTile + threadIdx.x;
  int begun = 0, total;
  for (int r = 0; r < kUniqueRounds; ++r) begun += begins_group<T>(args, first + r * kUniqueThreads);
  block_sum_before<kUniqueThreads>(begun, shared, total);
  if (threadIdx.x == 0) args.tiles[blockIdx.x] = total;
}

template <class T>
inline void number_groups(const UniqueArgs& args) {
  __shared__ int shared[33];
  int64_t before = args.tiles[blockIdx.x];
  for (int r = 0; r < kUniqueRounds; ++r) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * kUniqueTile + r * kUniqueThreads + threadIdx.x;
    const int begins = begins_group<T>(args, i);
    int total;
    const int64_t group = before + block_sum_before<kUniqueThreads>(begins, shared, total) + begins - 1;
    before += total;
    if (i >= args.n) continue;
    if (begins) {
      reinterpret_cast<T*>(args.values)[group] = reinterpret_cast<const T*>(args.sorted)[i];
      if (args.firsts) args.firsts[group] = i;
    }
    if (args.inverse) args.inverse[args.order ? args.order[i] : i] = group;
  }
}

inline void measure_groups(const UniqueArgs& args) {
  const int64_t group = static_cast<int64_t>(blockIdx.x) * kUniqueThreads + threadIdx.x;
  if (group >= args.groups) return;
  args.counts[group] = (group + 1 < args.groups ? args.firsts[group + 1] : args.n) - args.firsts[group];
}

}  // namespace adjoint::cuda
