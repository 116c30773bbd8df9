// Groups of equal neighbours: counted tile by tile, then numbered. Rows are brought in order before, by merging.
#pragma once

#include "core/dtype.h"
#include "running_sums.h"
#include "unique_args.h"

namespace adjoint::cuda {

inline int64_t place_of(const UniqueArgs& args, int64_t i) { return args.order ? args.order[i] : i; }

/// Every NaN begins a group, being equal to nothing.
template <class T>
inline bool are_equal(T a, T b) {
  using C = std::conditional_t<is_half_v<T>, float, T>;
  return convert<C>(a) == convert<C>(b);
}

template <class T>
struct Elements {
  static bool begins(const UniqueArgs& args, int64_t i) {
    const T* x = reinterpret_cast<const T*>(args.sorted);
    return i == 0 || !are_equal(x[i], x[i - 1]);
  }
  static void keep(const UniqueArgs& args, int64_t group, int64_t i) {
    reinterpret_cast<T*>(args.values)[group] = reinterpret_cast<const T*>(args.sorted)[i];
  }
};

template <class T>
struct Rows {
  static bool begins(const UniqueArgs& args, int64_t i) {
    if (i == 0) return true;
    const T* rows = reinterpret_cast<const T*>(args.sorted);
    const T *mine = rows + place_of(args, i) * args.width, *before = rows + place_of(args, i - 1) * args.width;
    for (int64_t k = 0; k < args.width; ++k)
      if (!are_equal(mine[k], before[k])) return true;
    return false;
  }
  static void keep(const UniqueArgs& args, int64_t group, int64_t i) {
    reinterpret_cast<int64_t*>(args.values)[group] = place_of(args, i);
  }
};

template <class Of>
inline void count_groups(const UniqueArgs& args) {
  __shared__ int shared[33];
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kUniqueTile + threadIdx.x;
  int begun = 0, total;
  for (int r = 0; r < kUniqueRounds; ++r) {
    const int64_t i = first + r * kUniqueThreads;
    begun += i < args.n && Of::begins(args, i);
  }
  block_sum_before<kUniqueThreads>(begun, shared, total);
  if (threadIdx.x == 0) args.tiles[blockIdx.x] = total;
}

template <class Of>
inline void number_groups(const UniqueArgs& args) {
  __shared__ int shared[33];
  int64_t before = args.tiles[blockIdx.x];
  for (int r = 0; r < kUniqueRounds; ++r) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * kUniqueTile + r * kUniqueThreads + threadIdx.x;
    const int begins = i < args.n && Of::begins(args, i);
    int total;
    const int64_t group = before + block_sum_before<kUniqueThreads>(begins, shared, total) + begins - 1;
    before += total;
    if (i >= args.n) continue;
    if (begins && args.values) Of::keep(args, group, i);
    if (begins && args.firsts) args.firsts[group] = i;
    if (i == args.n - 1 && args.firsts) args.firsts[group + 1] = args.n;
    if (args.inverse) args.inverse[place_of(args, i)] = group;
  }
}

inline void measure_groups(const UniqueArgs& args) {
  const int64_t group = static_cast<int64_t>(blockIdx.x) * kUniqueThreads + threadIdx.x;
  if (group < args.groups) args.counts[group] = args.firsts[group + 1] - args.firsts[group];
}

/// Whether a row comes before another one: by the first element in which they differ, NaN being the greatest.
template <class T>
inline bool row_before(const T* a, const T* b, int64_t width) {
  using C = std::conditional_t<is_half_v<T>, float, T>;
  for (int64_t k = 0; k < width; ++k) {
    const C x = convert<C>(a[k]), y = convert<C>(b[k]);
    if (x < y || (x == x && y != y)) return true;
    if (y < x || (y == y && x != x)) return false;
  }
  return false;
}

/// A thread has a row, and finds how many of the other run come before it: of equal rows those on the left do.
template <class T>
inline void merge_rows(const MergeArgs& args) {
  const int64_t i = thread_number<int64_t>();
  if (i >= args.n) return;
  auto place = [&](int64_t k) { return args.from ? args.from[k] : k; };
  const T* rows = reinterpret_cast<const T*>(args.rows);
  const int64_t own = place(i), pair = i / (2 * args.step) * (2 * args.step);
  const int64_t middle = std::min(pair + args.step, args.n), end = std::min(middle + args.step, args.n);
  const bool left = i < middle;
  const int64_t other = left ? middle : pair;
  int64_t low = other, high = left ? end : middle;
  const T* mine = rows + own * args.width;
  while (low < high) {
    const int64_t half = low + (high - low) / 2;
    const T* its = rows + place(half) * args.width;
    if (left ? row_before(its, mine, args.width) : !row_before(mine, its, args.width)) {
      low = half + 1;
    } else {
      high = half;
    }
  }
  args.to[(left ? i : i - middle + pair) + (low - other)] = own;
}

}  // namespace adjoint::cuda
