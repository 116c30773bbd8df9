// The first k of long rows without sorting all of them: digit by digit, from the first one on, the k-th key is found,
// and of equal keys the last place that counts; what does not come after it is sorted. A block has a row.
#pragma once

#include "sort.h"

namespace adjoint::cuda {

inline constexpr int kSelectThreads = 512, kSelectRoom = 2048;

/// The digit at which `left` elements of a histogram are reached, and how many come before it, by the first warp.
inline void find_digit(const unsigned* counts, unsigned left, unsigned* found) {
  if (threadIdx.x >= 32) return;
  unsigned mine[8], sum = 0;
  const unsigned first = threadIdx.x * 8;
#pragma unroll
  for (int d = 0; d < 8; ++d) sum += mine[d] = counts[first + d];
  unsigned running = sum;
  for (unsigned step = 1; step < 32; step *= 2) {
    const unsigned before = __shfl_up_sync(~0u, running, step);
    if (threadIdx.x >= step) running += before;
  }
  unsigned before = running - sum;
#pragma unroll
  for (int d = 0; d < 8; ++d) {
    if (before < left && before + mine[d] >= left) {
      found[0] = first + d;
      found[1] = before;
      found[2] = mine[d];
    }
    before += mine[d];
  }
}

/// One element of a row as its key.
template <class T>
inline KeyOf<T> row_key(const SortArgs& args, int64_t row, int64_t i) {
  const KeyOf<T> key = key_of(reinterpret_cast<const T*>(args.in)[row + i * args.steps[0]]);
  return args.flip ? static_cast<KeyOf<T>>(~key) : key;
}

template <class T>
inline void select_rows(const SortArgs& args) {
  using Key = KeyOf<T>;
  using E = Entries<Key, kSelectRoom, uint32_t>;
  __shared__ E entries;
  __shared__ unsigned counts[256], found[3], held;
  int64_t at[3];
  walk_to(args.walk, static_cast<int64_t>(blockIdx.x), at);
  unsigned left = static_cast<unsigned>(args.k);

  /// The digits of numbers by which elements still differ; false where all that have them are taken.
  auto narrow_down = [&]<class Number>(auto number_of, Number& reached, int bits) {
    Number fixed = 0;
    for (int shift = bits - 8; shift >= 0; shift -= 8) {
      if (threadIdx.x < 256) counts[threadIdx.x] = 0;
      __syncthreads();
      for (int64_t i = threadIdx.x; i < args.n; i += kSelectThreads) {
        Number number;
        if (number_of(i, number) && (number & fixed) == reached)
          atomicAdd(&counts[static_cast<unsigned>(number >> shift) & 255u], 1u);
      }
      __syncthreads();
      find_digit(counts, left, found);
      __syncthreads();
      reached |= static_cast<Number>(found[0]) << shift;
      fixed |= static_cast<Number>(255) << shift;
      left -= found[1];
    }
    return found[2] > left;
  };

  Key last = 0;
  uint32_t last_place = 0;
  const bool some_left = narrow_down(
      [&](int64_t i, Key& number) {
        number = row_key<T>(args, at[0], i);
        return true;
      },
      last, 8 * static_cast<int>(sizeof(Key)));
  if (some_left) {
    narrow_down(
        [&](int64_t i, uint32_t& number) {
          number = static_cast<uint32_t>(i);
          return row_key<T>(args, at[0], i) == last;
        },
        last_place, 32);
  } else {
    last_place = ~0u;
  }

  if (threadIdx.x == 0) held = 0;
  for (int i = static_cast<int>(threadIdx.x); i < args.padded; i += kSelectThreads) entries.set_last(i);
  __syncthreads();
  for (int64_t i = threadIdx.x; i < args.n; i += kSelectThreads) {
    const Key key = row_key<T>(args, at[0], i);
    if (key < last || (key == last && static_cast<uint32_t>(i) <= last_place))
      entries.set(static_cast<int>(atomicAdd(&held, 1u)), key, static_cast<uint32_t>(i));
  }
  __syncthreads();
  sort_stretches<kSelectThreads>(entries, args.padded, args.padded);
  for (int64_t i = threadIdx.x; i < args.k; i += kSelectThreads)
    write_kept<T>(args, at, i, entries.place(static_cast<int>(i)));
}

}  // namespace adjoint::cuda
