// Sparse matrices: sums of entries by group, products with dense matrices, triangular systems. No sum depends on which
// threads come first.
#pragma once

#include "block.h"
#include "cpu/math.h"
#include "sparse_args.h"

namespace adjoint::cuda {

/// What sums of a type are kept in.
template <class T>
using SumOf = std::conditional_t<is_half_v<T>, float, T>;

/// The value of another lane.
template <class A>
inline A of_lane(A value, int bit) {
  if constexpr (sizeof(A) < 4) {
    return static_cast<A>(shuffled(static_cast<int>(value), bit));
  } else {
    return shuffled(value, bit);
  }
}

/// The sum of what `group` neighbouring threads have, a power of two up to a warp.
template <int group, class A>
inline A joined_sum(A sum) {
#pragma unroll
  for (int bit = 1; bit < group; bit *= 2) sum = fn::add(sum, of_lane(sum, bit));
  return sum;
}

template <class Key>
inline void take_keys(const SparseKeyArgs& args) {
  const int64_t i = thread_number<int64_t>();
  if (i < args.n) static_cast<Key*>(args.keys)[i] = static_cast<Key>(args.given[i]);
}

inline void widen_places(const SparseKeyArgs& args) {
  const int64_t i = thread_number<int64_t>();
  if (i < args.n) args.order[i] = args.places[i];
}

/// Starts that a program has changed may lead anywhere: here they stay inside.
struct EntryRun {
  int64_t begin, end;
  EntryRun(const int64_t* starts, int64_t row, int64_t entries) : begin(starts[row]), end(starts[row + 1]) {
    if (begin < 0) begin = 0;
    if (end > entries) end = entries;
  }
};

/// `group` neighbouring threads have a column of a group: 1, or a warp for long groups of single values.
template <class T, int group>
inline void sum_groups(const SparseSumArgs& args) {
  using A = SumOf<T>;
  const int64_t number = thread_number<int64_t>(), item = number / group, row = item / args.width;
  if (row >= args.groups) return;  // all lanes of a group
  const EntryRun run(args.starts, row, args.entries);
  const T* values = static_cast<const T*>(args.values) + (item - row * args.width);
  A sum = A(0);
  bool any = false;
  for (int64_t i = run.begin + number % group; i < run.end; i += group) {
    const int64_t entry = args.order[i];
    if (entry < 0 || entry >= args.entries) continue;
    const A value = convert<A>(values[entry * args.width]);
    sum = any ? fn::add(sum, value) : value;
    any = true;
  }
  sum = joined_sum<group>(sum);
  if (number % group == 0) static_cast<T*>(args.out)[item] = convert<T>(sum);
}

/// The column of an entry, or -1 and a fault where it lies outside.
inline int64_t column_of(const SparseArgs& args, int64_t i, int64_t& entry) {
  entry = args.order ? args.order[i] : i;
  const bool there = entry >= 0 && entry < args.entries;
  const int64_t column = there ? args.columns[entry] : -1;
  return check(column >= 0 && column < args.dense_rows, args.fault, FaultKind::SparseEntry, 0, column, args.dense_rows)
             ? column
             : -1;
}

/// Notes starts that lead outside.
inline void check_run(const SparseArgs& args, int64_t row) {
  check(args.starts[row] >= 0 && args.starts[row + 1] <= args.entries, args.fault, FaultKind::SparseEntry, 0, row, 0);
}

/// `group` neighbouring threads have an element of the product: 1, neighbours having neighbouring columns, or, where
/// there are few columns, a warp that takes turns at the entries of the row.
template <class T, int group>
inline void sparse_product(const SparseArgs& args) {
  using A = SumOf<T>;
  const int64_t number = thread_number<int64_t>(), item = number / group, row = item / args.width;
  if (row >= args.rows) return;  // all lanes of a group
  const EntryRun run(args.starts, row, args.entries);
  const T *values = static_cast<const T*>(args.values),
          *dense = static_cast<const T*>(args.dense) + (item - row * args.width);
  if (item == row * args.width && number % group == 0) check_run(args, row);
  A sum = A(0);
  // Several at a time, whose loads need not wait for the sum.
  constexpr int kTogether = 4;
  for (int64_t base = run.begin + number % group; base < run.end; base += kTogether * group) {
    A part[kTogether];
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      part[k] = A(0);
      int64_t entry, column = -1;
      if (base + k * group < run.end) column = column_of(args, base + k * group, entry);
      if (column >= 0) part[k] = fn::mul(convert<A>(values[entry]), convert<A>(dense[column * args.dense_step]));
    }
#pragma unroll
    for (int k = 0; k < kTogether; ++k) sum = fn::add(sum, part[k]);
  }
  sum = joined_sum<group>(sum);
  if (number % group == 0) static_cast<T*>(args.out)[item] = convert<T>(sum);
}

/// `group` neighbouring threads have an entry.
template <class T, int group>
inline void sparse_sampled(const SampledArgs& args) {
  using A = SumOf<T>;
  const int64_t number = thread_number<int64_t>(), e = number / group;
  if (e >= args.n) return;  // all lanes of a group
  const int64_t i = args.row[e], j = args.column[e];
  A sum = A(0);
  if (check(i >= 0 && i < args.first_rows && j >= 0 && j < args.second_rows, args.fault, FaultKind::SparseEntry, 0, i,
            args.first_rows)) {
    const T *a = static_cast<const T*>(args.first) + i * args.first_step,
            *b = static_cast<const T*>(args.second) + j * args.second_step;
    for (int64_t k = number % group; k < args.width; k += group)
      sum = fn::add(sum, fn::mul(convert<A>(a[k]), convert<A>(b[k])));
  }
  sum = joined_sum<group>(sum);
  if (number % group == 0) static_cast<T*>(args.out)[e] = convert<T>(sum);
}

/// Waits until another block has solved a row; what it has written can be read then.
inline void await(const int32_t* done) {
  while (*static_cast<const volatile int32_t*>(done) == 0) {
  }
  __threadfence();
}

/// A warp has a row, or 32 columns of it where blockIdx.y counts these. Rows are begun in the order in which they
/// depend on one another, whichever block comes first, so that those that a row waits for are done or under way. With
/// `by_entries` the lanes take turns at the entries of a row, otherwise they have a column each.
template <class T, bool by_entries>
inline void sparse_solve(const SparseArgs& args) {
  using A = SumOf<T>;
  const int lane = threadIdx.x;
  int32_t step = lane == 0 ? atomicAdd(args.tickets + blockIdx.y, 1) : 0;
  step = __shfl_sync(kAllLanes, step, 0);
  const int64_t row = args.upper ? args.rows - 1 - step : step;
  int32_t* done = args.done + blockIdx.y * args.rows;
  const EntryRun run(args.starts, row, args.entries);
  if (lane == 0 && blockIdx.y == 0) check_run(args, row);
  const T *values = static_cast<const T*>(args.values),
          *dense = static_cast<const T*>(args.dense) + row * args.dense_step;
  T* out = static_cast<T*>(args.out);
  const bool upper = args.upper != 0;
  /// f(column, factor) for an entry that counts; those on the diagonal are added up.
  A diagonal = A(0);
  auto visit = [&](int64_t i, auto f) {
    int64_t entry;
    const int64_t column = column_of(args, i, entry);
    if (column < 0) return;
    const A factor = convert<A>(values[entry]);
    if (column == row) {
      diagonal = diagonal + factor;
    } else if ((column > row) == upper) {
      await(done + column);
      f(column, factor);
    }
  };
  if constexpr (by_entries) {
    for (int64_t j = 0; j < args.width; ++j) {
      A sum = A(0);
      diagonal = A(0);
      for (int64_t i = run.begin + lane; i < run.end; i += 32)
        visit(i, [&](int64_t column, A factor) { sum = sum + factor * convert<A>(out[column * args.width + j]); });
      __syncwarp();
      sum = joined_sum<32>(sum);
      const A divisor = joined_sum<32>(diagonal), rest = convert<A>(dense[j]) - sum;
      if (lane == 0) out[row * args.width + j] = convert<T>(args.unit ? rest : rest / divisor);
    }
  } else {
    const int64_t j = static_cast<int64_t>(blockIdx.y) * 32 + lane;
    const bool there = j < args.width;
    A sum = there ? convert<A>(dense[j]) : A(0);
    for (int64_t i = run.begin; i < run.end; ++i)
      visit(i, [&](int64_t column, A factor) {
        if (there) sum = sum - factor * convert<A>(out[column * args.width + j]);
      });
    if (there) out[row * args.width + j] = convert<T>(args.unit ? sum : sum / diagonal);
  }
  __threadfence();
  __syncwarp();
  if (lane == 0) atomicExch(done + row, 1);
}

}  // namespace adjoint::cuda
