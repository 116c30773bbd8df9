// Rows sorted in the memory of a block, and what is chosen of sorted rows.
#pragma once

#include "cpu/math.h"
#include "sort_args.h"
#include "sort_keys.h"
#include "walk.h"

namespace adjoint::cuda {

/// What is kept of a sorted row: its first k, the k-th, a median, the most frequent one, or keys and places.
enum class Keep { First, Kth, Median, MedianOfNumbers, Mode, Pairs };

/// Keys with their places, ordered by both, so that every sort is stable.
template <class Key, int room, class Place = uint16_t>
struct Entries;
template <int room, class Place>
struct Entries<uint32_t, room, Place> {
  uint64_t words[room];

  uint32_t key(int i) const { return static_cast<uint32_t>(words[i] >> 32); }
  uint32_t place(int i) const { return static_cast<uint32_t>(words[i]); }
  void set(int i, uint32_t key, uint32_t place) { words[i] = static_cast<uint64_t>(key) << 32 | place; }
  void set_last(int i) { words[i] = ~static_cast<uint64_t>(0); }
  void order(int i, int j, bool up) {
    const uint64_t a = words[i], b = words[j];
    if ((b < a) == up) {
      words[i] = b;
      words[j] = a;
    }
  }
};
template <int room, class Place>
struct Entries<uint64_t, room, Place> {
  uint64_t keys[room];
  Place places[room];

  uint64_t key(int i) const { return keys[i]; }
  uint32_t place(int i) const { return places[i]; }
  void set(int i, uint64_t key, uint32_t place) {
    keys[i] = key;
    places[i] = static_cast<Place>(place);
  }
  void set_last(int i) { set(i, ~static_cast<uint64_t>(0), static_cast<Place>(~Place(0))); }
  void order(int i, int j, bool up) {
    const uint64_t a = keys[i], b = keys[j];
    const uint32_t p = places[i], q = places[j];
    if ((b < a || (b == a && q < p)) == up) {
      set(i, b, q);
      set(j, a, p);
    }
  }
};

/// Each stretch of `padded` of the first `count` entries in order, by a bitonic network. Steps within 64 neighbours are
/// a warp's own.
template <int threads, class E>
inline void sort_stretches(E& entries, int count, int padded) {
  for (int size = 2; size <= padded; size *= 2) {
    for (int step = size / 2; step > 0; step /= 2) {
      for (int pair = static_cast<int>(threadIdx.x); pair < count / 2; pair += threads) {
        const int low = 2 * pair - (pair & (step - 1));
        entries.order(low, low + step, (low & size) == 0 || size == padded);
      }
      const int next = step > 1 ? step / 2 : size;
      step > 32 || next > 32 ? __syncthreads() : __syncwarp();
    }
  }
  __syncthreads();
}

/// A row that lies sorted in a block's memory, or in the device's.
template <class E>
struct NearRow {
  const E& entries;
  int first;
  auto key(int64_t i) const { return entries.key(first + static_cast<int>(i)); }
  int64_t place(int64_t i) const { return entries.place(first + static_cast<int>(i)); }
};
template <class T>
struct FarRow {
  const T* elements;
  const uint32_t* places;
  int64_t first;
  KeyOf<T> key(int64_t i) const { return key_of(elements[first + i]); }
  int64_t place(int64_t i) const { return static_cast<int64_t>(places[first + i]) - first; }
};

/// How many elements come before what `is_before` no longer holds for.
template <class IsBefore>
inline int64_t count_before(int64_t n, IsBefore is_before) {
  int64_t low = 0, high = n;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (is_before(middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// The place in its order of what is kept of a row.
template <class T, Keep keep, class Row>
inline int64_t kept_place(const Row& row, int64_t n, int64_t k) {
  if (keep == Keep::Kth) return k - 1;
  const int64_t numbers = count_before(n, [&](int64_t i) { return !is_nan_key<T>(row.key(i)); });
  if (numbers == 0 || (numbers < n && keep == Keep::Median)) return numbers;
  return (numbers - 1) / 2;
}

/// For elements that are the last of their kind: how many there are, and, of as many, the first is the greatest.
template <class T, class Row>
inline uint64_t mode_score(const Row& row, int64_t n, int64_t i) {
  const auto key = row.key(i);
  if (i + 1 < n && row.key(i + 1) == key) return 0;
  const int64_t first = is_nan_key<T>(key) ? i : count_before(i, [&](int64_t j) { return row.key(j) < key; });
  return static_cast<uint64_t>(i + 1 - first) << 32 | static_cast<uint64_t>(n - 1 - i);
}
inline int64_t mode_place(uint64_t score, int64_t n) { return n - 1 - static_cast<int64_t>(score & 0xffffffffu); }

template <class T>
inline void write_kept(const SortArgs& args, const int64_t (&at)[3], int64_t to, int64_t place) {
  reinterpret_cast<T*>(args.values)[at[1] + to * args.steps[1]] =
      reinterpret_cast<const T*>(args.in)[at[0] + place * args.steps[0]];
  args.indices[at[2] + to * args.steps[2]] = place;
}

template <class T, class E, int threads, int room>
inline void load_rows(const SortArgs& args, E& entries, int64_t first_row) {
  using Key = KeyOf<T>;
  const Key flip = args.flip ? static_cast<Key>(~Key(0)) : Key(0);
  const int rows = room / args.padded;
  for (int i = static_cast<int>(threadIdx.x); i < room; i += threads) {
    const int row = args.rows_first ? i % rows : i / args.padded;
    const int column = args.rows_first ? i / rows : i % args.padded;
    const int to = row * args.padded + column;
    if (column < args.n && first_row + row < args.rows) {
      int64_t at[1];
      walk_to(args.walk, first_row + row, at);
      const T value = reinterpret_cast<const T*>(args.in)[at[0] + column * args.steps[0]];
      entries.set(to, key_of(value) ^ flip, static_cast<uint32_t>(column));
    } else {
      entries.set_last(to);
    }
  }
  __syncthreads();
}

/// A block sorts as many rows as it has room for.
template <class T, Keep keep, int threads, int room>
inline void sort_rows(const SortArgs& args) {
  using E = Entries<KeyOf<T>, room>;
  __shared__ E entries;
  __shared__ unsigned long long scores[room / 32];
  const int rows = room / args.padded;
  const int64_t first_row = static_cast<int64_t>(blockIdx.x) * rows;
  load_rows<T, E, threads, room>(args, entries, first_row);
  sort_stretches<threads>(entries, room, args.padded);
  if constexpr (keep == Keep::Pairs) {
    for (int64_t i = threadIdx.x; i < args.n; i += threads) {
      reinterpret_cast<T*>(args.sorted)[i] = entries.key(static_cast<int>(i));
      args.places[i] = entries.place(static_cast<int>(i));
    }
  } else if constexpr (keep == Keep::First) {
    for (int i = static_cast<int>(threadIdx.x); i < room; i += threads) {
      const int row = args.rows_first ? i % rows : i / args.padded;
      const int column = args.rows_first ? i / rows : i % args.padded;
      if (column >= args.k || first_row + row >= args.rows) continue;
      int64_t at[3];
      walk_to(args.walk, first_row + row, at);
      write_kept<T>(args, at, column, entries.place(row * args.padded + column));
    }
  } else {
    if constexpr (keep == Keep::Mode) {
      if (threadIdx.x < static_cast<unsigned>(rows)) scores[threadIdx.x] = 0;
      __syncthreads();
      for (int i = static_cast<int>(threadIdx.x); i < room; i += threads) {
        const int row = i / args.padded, column = i % args.padded;
        if (column >= args.n) continue;
        const uint64_t score = mode_score<T>(NearRow<E>{entries, row * args.padded}, args.n, column);
        if (score) atomicMax(&scores[row], static_cast<unsigned long long>(score));
      }
      __syncthreads();
    }
    const int row = static_cast<int>(threadIdx.x);
    if (row >= rows || first_row + row >= args.rows) return;
    const NearRow<E> near{entries, row * args.padded};
    const int64_t chosen =
        keep == Keep::Mode ? mode_place(scores[row], args.n) : kept_place<T, keep>(near, args.n, args.k);
    int64_t at[3];
    walk_to(args.walk, first_row + row, at);
    write_kept<T>(args, at, 0, near.place(chosen));
  }
}

/// The elements of all rows, one after the other.
template <class T>
inline void pack_rows(const SortArgs& args) {
  const int64_t number = thread_number<int64_t>();
  if (number >= args.rows * args.n) return;
  const int64_t row = number / args.n, column = number - row * args.n;
  int64_t at[1];
  walk_to(args.walk, row, at);
  reinterpret_cast<T*>(args.sorted)[number] = reinterpret_cast<const T*>(args.in)[at[0] + column * args.steps[0]];
}

/// The first k of rows that are sorted.
template <class T>
inline void write_first(const SortArgs& args) {
  const int64_t number = thread_number<int64_t>();
  if (number >= args.rows * args.k) return;
  const int64_t row = number / args.k, column = number - row * args.k;
  int64_t at[3];
  walk_to(args.walk, row, at);
  write_kept<T>(args, at, column, static_cast<int64_t>(args.places[row * args.n + column]) - row * args.n);
}

/// One element of each row that is sorted; a block has a row.
template <class T, Keep keep, int threads>
inline void write_chosen(const SortArgs& args) {
  __shared__ unsigned long long score;
  const int64_t row = static_cast<int64_t>(blockIdx.x);
  const FarRow<T> far{reinterpret_cast<const T*>(args.sorted), args.places, row * args.n};
  if constexpr (keep == Keep::Mode) {
    if (threadIdx.x == 0) score = 0;
    __syncthreads();
    for (int64_t i = threadIdx.x; i < args.n; i += threads)
      if (const uint64_t mine = mode_score<T>(far, args.n, i)) atomicMax(&score, static_cast<unsigned long long>(mine));
    __syncthreads();
  }
  if (threadIdx.x > 0) return;
  const int64_t chosen = keep == Keep::Mode ? mode_place(score, args.n) : kept_place<T, keep>(far, args.n, args.k);
  int64_t at[3];
  walk_to(args.walk, row, at);
  write_kept<T>(args, at, 0, far.place(chosen));
}

}  // namespace adjoint::cuda
