// Triangles, turned rows and runs of places.
#pragma once

#include "running_sums.h"
#include "structure_args.h"
#include "walk.h"

namespace adjoint::cuda {

template <class Word, class Index>
inline void triangle(const TriangleArgs& args) {
  const Index number = thread_number<Index>();
  if (number >= static_cast<Index>(args.numel)) return;
  const Index rows = static_cast<Index>(args.rows), columns = static_cast<Index>(args.columns);
  const Index line = number / columns, column = number - line * columns, matrix = line / rows,
              row = line - matrix * rows;
  Index at[2];
  walk_to(args.walk, matrix, at);
  const int64_t r = static_cast<int64_t>(row), c = static_cast<int64_t>(column);
  const bool kept = args.lower ? c - r <= args.diagonal : c - r >= args.diagonal;
  Word value{};
  if (kept) value = reinterpret_cast<const Word*>(args.in)[at[0] + r * args.in_row + c * args.in_column];
  reinterpret_cast<Word*>(args.out)[at[1] + r * args.out_row + c * args.out_column] = value;
}

/// The sum of all numbers below x, each cut to [0, most].
inline int64_t sum_below(int64_t x, int64_t most) {
  if (x <= 0) return 0;
  if (x <= most + 1) return x * (x - 1) / 2;
  return most * (most + 1) / 2 + (x - most - 1) * most;
}

/// Entries in the rows before one.
inline int64_t entries_before(const TrianglePlaceArgs& args, int64_t row) {
  const int64_t shift = args.offset + (args.lower ? 1 : 0);
  const int64_t cut = sum_below(row + shift, args.columns) - sum_below(shift, args.columns);
  return args.lower ? cut : row * args.columns - cut;
}

template <class T>
inline void triangle_places(const TrianglePlaceArgs& args) {
  const int64_t number = thread_number<int64_t>();
  if (number >= args.n) return;
  // The last row with no more entries before it than this one's number.
  int64_t low = 0, high = args.rows - 1;
  while (low < high) {
    const int64_t middle = low + (high - low + 1) / 2;
    if (entries_before(args, middle) <= number) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  int64_t first = 0;
  if (!args.lower) first = low + args.offset < 0 ? 0 : low + args.offset;
  T* out = reinterpret_cast<T*>(args.out);
  out[number] = static_cast<T>(low);
  out[args.n + number] = static_cast<T>(first + number - entries_before(args, low));
}

template <class Word, class Index>
inline void roll(const RollArgs& args) {
  const Index number = thread_number<Index>();
  if (number >= static_cast<Index>(args.numel)) return;
  const Index step = static_cast<Index>(args.step), size = static_cast<Index>(args.size);
  const Index at = number / step % size, start = static_cast<Index>(args.start);
  const Index from = at + start < size ? number + start * step : number + start * step - size * step;
  reinterpret_cast<Word*>(args.out)[number] = reinterpret_cast<const Word*>(args.in)[from];
}

inline void total_repeats(const RepeatArgs& args) {
  __shared__ int64_t shared[33];
  int64_t sum = 0, total;
  for (int64_t i = threadIdx.x; i < args.n; i += kRepeatThreads) {
    const int64_t count = args.repeats[i];
    if (check(count >= 0, args.fault, FaultKind::Negative, 0, count, 0)) sum += count;
  }
  block_sum_before<kRepeatThreads>(sum, shared, total);
  if (threadIdx.x == 0) *args.out = total;
}

/// Here the repeats say where the run of each place begins.
inline void repeat_places(const RepeatArgs& args) {
  const int64_t number = thread_number<int64_t>();
  if (number >= args.total) return;
  int64_t low = 0, high = args.n - 1;
  while (low < high) {
    const int64_t middle = low + (high - low + 1) / 2;
    if (args.repeats[middle] <= number) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  args.out[number] = low;
}

}  // namespace adjoint::cuda
