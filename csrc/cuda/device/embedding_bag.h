// Rows of a table joined bag by bag: neighbouring threads have neighbouring columns of a bag.
#pragma once

#include "block.h"
#include "core/dtype.h"
#include "embedding_bag_args.h"

namespace adjoint::cuda {

/// Half types add up as float.
template <class T>
using Wide = std::conditional_t<is_half_v<T>, float, T>;

inline bool names_row(const BagArgs& args, int64_t index) { return index >= 0 && index < args.rows; }

inline void check_start(const BagArgs& args, int64_t b) {
  const int64_t start = args.starts[b], before = b > 0 ? args.starts[b - 1] : 0;
  if (b == 0) check(start == 0, args.fault, FaultKind::FirstOffset, 0, start, 0);
  if (b == args.start_count - 1) check(start <= args.length, args.fault, FaultKind::LastOffset, 0, start, args.length);
  if (b > 0) check(start >= before, args.fault, FaultKind::FallingOffset, 0, start, before);
}

/// Each thread has a start, and an index: whether they are right, and the index's bag, by a search among the starts.
inline void find_owners(const BagArgs& args) {
  const int64_t i = thread_number<int64_t>();
  if (i < args.start_count) check_start(args, i);
  if (i >= args.length) return;
  const int64_t index = args.indices[i];
  check(names_row(args, index), args.fault, FaultKind::BagIndex, 0, index, args.rows);
  int64_t low = 0, high = args.start_count;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (args.starts[middle] > i) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  // Indices after the last offset are in no bag.
  args.owner[i] = low - 1 < args.count ? low - 1 : -1;
}

/// The indices of a bag; starts that are wrong lead nowhere.
struct BagRun {
  int64_t begin, end;
  BagRun(const BagArgs& args, int64_t bag) {
    auto inside = [&](int64_t x) { return x < 0 ? 0 : x > args.length ? args.length : x; };
    begin = inside(args.starts[bag]);
    end = bag + 1 < args.start_count ? inside(args.starts[bag + 1]) : args.length;
  }
};

/// `group` neighbouring threads have a column of a bag and take turns at its rows: 1, or a warp for long and narrow
/// ones.
template <class T, int group>
inline void sum_bags(const BagArgs& args) {
  using A = Wide<T>;
  const int64_t number = thread_number<int64_t>(), item = number / group;
  const int64_t columns = args.width > 0 ? args.width : 1;  // bags without columns still have rows to count
  const int64_t bag = item / columns, column = item - bag * columns;
  if (bag >= args.count) return;  // all lanes of a group
  const BagRun run(args, bag);
  const T* table = static_cast<const T*>(args.table) + column;
  const T* factors = static_cast<const T*>(args.factors);
  A sum = A(0);
  int64_t used = 0;
  // Several at a time, whose loads need not wait for the sum.
  constexpr int kTogether = 4;
  for (int64_t base = run.begin + number % group; base < run.end; base += kTogether * group) {
    A value[kTogether];
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      value[k] = A(0);
      const int64_t i = base + k * group, index = i < run.end ? args.indices[i] : -1;
      if (i >= run.end || index == args.padding || !names_row(args, index)) continue;
      ++used;
      if (args.width == 0) continue;
      value[k] = static_cast<A>(table[index * args.width]);
      if (factors) value[k] *= static_cast<A>(factors[i]);
    }
#pragma unroll
    for (int k = 0; k < kTogether; ++k) sum += value[k];
  }
#pragma unroll
  for (int bit = 1; bit < group; bit *= 2) {
    sum += shuffled(sum, bit);
    used += shuffled(used, bit);
  }
  if (number % group != 0) return;
  if (column == 0) args.details[bag] = used;
  if (args.width > 0) static_cast<T*>(args.out)[item] = T(args.mean && used > 0 ? sum / static_cast<A>(used) : sum);
}

/// The greatest element of each column of a bag, the first of equals, and its row; zeros for an empty bag.
template <class T>
inline void greatest_of_bags(const BagArgs& args) {
  using A = Wide<T>;
  const int64_t number = thread_number<int64_t>();
  if (number >= args.count * args.width) return;
  const int64_t bag = number / args.width;
  const BagRun run(args, bag);
  const T* table = static_cast<const T*>(args.table) + (number - bag * args.width);
  A greatest = A(0);
  int64_t row = 0;
  bool first = true;
  for (int64_t i = run.begin; i < run.end; ++i) {
    const int64_t index = args.indices[i];
    if (index == args.padding || !names_row(args, index)) continue;
    const A value = static_cast<A>(table[index * args.width]);
    if (first || value > greatest) {
      greatest = value;
      row = index;
    }
    first = false;
  }
  static_cast<T*>(args.out)[number] = T(greatest);
  args.details[number] = row;
}

// ---- The gradient of the table

/// The row of each index whose bag has a gradient for it; `rows` for others.
template <class Key>
inline void number_rows(const BagArgs& args) {
  const int64_t i = thread_number<int64_t>();
  if (i >= args.length) return;
  const int64_t index = args.indices[i];
  const bool counts = index != args.padding && args.owner[i] >= 0 && names_row(args, index);
  static_cast<Key*>(args.out)[i] = static_cast<Key>(counts ? index : args.rows);
}

inline void count_uses(const BagArgs& args) {
  const int64_t i = thread_number<int64_t>();
  if (i >= args.length) return;
  const int64_t index = args.indices[i];
  if (names_row(args, index)) atomicAdd(static_cast<unsigned long long*>(args.out) + index, 1ull);
}

/// What index i of the sorted ones adds to its row.
template <class T>
inline Wide<T> part_of(const BagRowArgs& args, int64_t i, int64_t row, int64_t column) {
  using A = Wide<T>;
  const int64_t place = args.places[i], bag = args.owner[place];
  A factor = args.factors ? static_cast<A>(static_cast<const T*>(args.factors)[place]) : A(1);
  if (args.mean) factor /= static_cast<A>(args.details[bag]);
  if (args.uses) factor /= static_cast<A>(args.uses[row]);
  return factor * static_cast<A>(static_cast<const T*>(args.grad)[bag * args.width + column]);
}

/// A thread has a column of some sorted indices. Rows that begin and end among them are done then; of others there is a
/// part, of what is from before or of what goes on, so that no thread has all of a row that occurs everywhere.
template <class T, class Key>
inline void sum_chunks(const BagRowArgs& args) {
  using A = Wide<T>;
  const int64_t number = thread_number<int64_t>(), chunk = number / args.width, column = number - chunk * args.width;
  const int64_t first = chunk * kBagChunk, last = std::min(first + kBagChunk, args.n);
  if (first >= args.n) return;
  const Key* keys = static_cast<const Key*>(args.keys);
  bool from_before = first > 0 && keys[first - 1] == keys[first];
  A sum = A(0);
  // Several at a time, whose loads need not wait for the sum.
  constexpr int kTogether = 4;
  for (int64_t base = first; base < last; base += kTogether) {
    A part[kTogether];
    int64_t row[kTogether];
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      row[k] = base + k < last ? static_cast<int64_t>(keys[base + k]) : args.rows;
      part[k] = row[k] < args.rows ? part_of<T>(args, base + k, row[k], column) : A(0);
    }
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      const int64_t i = base + k;
      if (row[k] >= args.rows) continue;  // these come last
      sum += part[k];
      const bool ends = i + 1 == args.n || static_cast<int64_t>(keys[i + 1]) != row[k];
      if (!ends && i + 1 < last) continue;
      if (from_before) {
        static_cast<A*>(args.heads)[number] = sum;
      } else if (ends) {
        static_cast<T*>(args.out)[row[k] * args.width + column] = T(sum);
      } else {
        static_cast<A*>(args.tails)[number] = sum;
      }
      from_before = false;
      sum = A(0);
    }
  }
}

/// The chunk in which a row begins that goes on puts its parts together.
template <class T, class Key>
inline void join_chunks(const BagRowArgs& args) {
  using A = Wide<T>;
  const int64_t number = thread_number<int64_t>(), chunk = number / args.width, column = number - chunk * args.width;
  const int64_t first = chunk * kBagChunk, next = first + kBagChunk;
  if (next >= args.n) return;
  const Key* keys = static_cast<const Key*>(args.keys);
  const Key key = keys[next];
  if (static_cast<int64_t>(key) >= args.rows || keys[next - 1] != key || (first > 0 && keys[first - 1] == key)) return;
  A sum = static_cast<const A*>(args.tails)[number];
  int64_t part = number + args.width;
  for (int64_t i = next; i < args.n && keys[i] == key; i += kBagChunk, part += args.width)
    sum += static_cast<const A*>(args.heads)[part];
  static_cast<T*>(args.out)[static_cast<int64_t>(key) * args.width + column] = T(sum);
}

/// Marks the bags that have a row which counts.
inline void find_full(const BagArgs& args) {
  const int64_t i = thread_number<int64_t>();
  if (i >= args.length || args.owner[i] < 0 || args.indices[i] == args.padding) return;
  static_cast<volatile int32_t*>(args.full)[args.owner[i]] = 1;  // the threads of a bag all write the same
}

/// The gradients of full bags, and zeros, in the type that sums are kept in.
template <class T>
inline void widen_full(const BagArgs& args) {
  const int64_t number = thread_number<int64_t>();
  if (number >= args.count * args.width) return;
  const bool full = args.full[number / args.width] != 0;
  static_cast<Wide<T>*>(args.out)[number] =
      full ? static_cast<Wide<T>>(static_cast<const T*>(args.grad)[number]) : Wide<T>(0);
}

// ---- The gradient of the factors

/// `group` neighbouring threads have an index.
template <class T, int group>
inline void factors_grad(const BagArgs& args) {
  using A = Wide<T>;
  const int64_t number = thread_number<int64_t>(), i = number / group;
  if (i >= args.length) return;  // all lanes of a group
  const int64_t index = args.indices[i], bag = args.owner[i];
  A sum = A(0);
  if (bag >= 0 && index != args.padding && names_row(args, index)) {
    const T* from = static_cast<const T*>(args.grad) + bag * args.width;
    const T* row = static_cast<const T*>(args.table) + index * args.width;
    for (int64_t k = number % group; k < args.width; k += group)
      sum += static_cast<A>(from[k]) * static_cast<A>(row[k]);
  }
#pragma unroll
  for (int bit = 1; bit < group; bit *= 2) sum += shuffled(sum, bit);
  if (number % group == 0) static_cast<T*>(args.out)[i] = T(sum);
}

}  // namespace adjoint::cuda
