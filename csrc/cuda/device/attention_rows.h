// Rows of attention in shared memory, and what tensor cores do with them: WarpRows on sm_80 and later, GroupRows on
// sm_90a. A warp has 16 rows of its own, or so many times as many; their scores and sums are in its registers.
//
// Products are begun, and waited for later: `begin_score` and `begin_add_product` each are one that `wait` counts.
#pragma once

#include "attention_extras.h"
#include "group_products.h"

namespace adjoint::cuda {

/// In a way that tells the compiler that lanes agree.
inline int warp_number() { return __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 32, 0); }

/// Registers of sums: lane i has of each 8 columns 2 (i % 4) and the next, in rows i / 4 and i / 4 + 8 of each tile.
template <int tiles, int columns>
using WarpSums = float[tiles][columns / 8][4];

/// This thread's row of 16, or so many times as many: `half` is 0 or 1.
inline int sum_row(int tile, int half) { return tile * 16 + static_cast<int>(threadIdx.x) % 32 / 4 + 8 * half; }
/// Its column of 8: `second` is 0 or 1.
inline int sum_column(int number, int second) { return number * 8 + static_cast<int>(threadIdx.x) % 4 * 2 + second; }

template <int tiles, int count>
inline void clear(float (&sums)[tiles][count][4]) {
#pragma unroll
  for (int t = 0; t < tiles; ++t) {
#pragma unroll
    for (int c = 0; c < count; ++c) {
#pragma unroll
      for (int e = 0; e < 4; ++e) sums[t][c][e] = 0.0f;
    }
  }
}

/// Rows of D numbers, filled up with zeros. `own` rows of a block are those of its warps, one after the other.
template <class Number, int D, int tiles>
struct WarpRows {
  using T = Number;
  using Numbers = Product<T>;
  static constexpr int kTiles = tiles, kTogether = 1;  ///< so many warps go the same way
  static constexpr int kSize = D, kFilled = (D + 15) / 16 * 16, kAlignment = 16;
  static constexpr int kStep = kFilled + Numbers::kVector;  ///< from row to row: 8 rows lie in other banks
  static constexpr int kDepths = kFilled / Numbers::kDepth;
  using Sums = WarpSums<kTiles, kFilled>;

  static int place(int row, int column) { return row * kStep + column; }
  static T* own(T* rows) { return rows + warp_number() * 16 * kTiles * kStep; }
  /// Of own rows, those of this warp.
  static T* of_warp(T* own) { return own; }

  /// scores = own rows @ rows', for N rows.
  template <int N>
  static void begin_score(WarpSums<kTiles, N>& scores, const T* own, const T* rows) {
    clear(scores);
#pragma unroll
    for (int d = 0; d < kDepths; ++d) {
      typename Numbers::Left lefts[kTiles];
#pragma unroll
      for (int t = 0; t < kTiles; ++t) Numbers::load_left(lefts[t], own + t * 16 * kStep + d * Numbers::kDepth, kStep);
#pragma unroll
      for (int n = 0; n < N / 16; ++n) {
        typename Numbers::Right rights[2];
        Numbers::load_rights(rights, rows + n * 16 * kStep + d * Numbers::kDepth, kStep);
#pragma unroll
        for (int t = 0; t < kTiles; ++t) {
          Numbers::add(scores[t][2 * n], lefts[t], rights[0]);
          Numbers::add(scores[t][2 * n + 1], lefts[t], rights[1]);
        }
      }
    }
  }
  /// sums += shares @ rows, for N rows.
  template <int N>
  static void begin_add_product(Sums& sums, const WarpSums<kTiles, N>& shares, const T* rows) {
#pragma unroll
    for (int l = 0; l < N / Numbers::kDepth; ++l) {
      typename Numbers::Left lefts[kTiles];
#pragma unroll
      for (int t = 0; t < kTiles; ++t) Numbers::left_of(lefts[t], shares[t] + l * (Numbers::kDepth / 8));
#pragma unroll
      for (int c = 0; c < kFilled / 16; ++c) {
        typename Numbers::Right rights[2];
        Numbers::load_turned_rights(rights, rows + l * Numbers::kDepth * kStep + c * 16, kStep);
#pragma unroll
        for (int t = 0; t < kTiles; ++t) {
          Numbers::add(sums[t][2 * c], lefts[t], rights[0]);
          Numbers::add(sums[t][2 * c + 1], lefts[t], rights[1]);
        }
      }
    }
  }
  template <int open, int count>
  static void wait(float (&)[kTiles][count][4]) {}
  static void show() {}
};

/// Rows of D halves, 64 or 128, for products by groups of four warps.
template <class Number, int D>
struct GroupRows {
  using T = Number;
  using Numbers = Product<T>;
  static constexpr int kTiles = 1, kTogether = 4, kPanel = 64 * 64;
  static constexpr int kSize = D, kFilled = D, kAlignment = 1024, kStep = D;
  using Sums = WarpSums<1, D>;

  /// 64 rows are panels side by side.
  static int place(int row, int column) {
    const int r = row % 64, c = column % 64;
    return row / 64 * 64 * D + column / 64 * kPanel + r * 64 + (c / 8 ^ r % 8) * 8 + c % 8;
  }
  static T* own(T* rows) { return rows + warp_number() / 4 * 64 * D; }
  /// Of the 64 rows of its group, those of this warp; `place` holds for the first 16 of them.
  static T* of_warp(T* own) { return own + warp_number() % 4 * 16 * 64; }

  template <int N>
  static void begin_score(WarpSums<1, N>& scores, const T* own, const T* rows) {
    static_assert(N == 64);
    const PanelPlace lefts(own), rights(rows);
    open_products();
    multiply_panels(scores[0], lefts + 0, rights + 0, T());
#pragma unroll
    for (int d = 1; d < D / 16; ++d) {
      const int at = d / 4 * kPanel * 2 + d % 4 * 32;
      add_panels(scores[0], lefts + at, rights + at, T());
    }
    close_products();
  }
  template <int N>
  static void begin_add_product(Sums& sums, const WarpSums<1, N>& shares, const T* rows) {
    static_assert(N == 64);
    const PanelPlace rights(rows);
    typename Numbers::Left lefts[4];
#pragma unroll
    for (int l = 0; l < 4; ++l) Numbers::left_of(lefts[l], shares[0] + 2 * l);
    open_products();
#pragma unroll
    for (int p = 0; p < D / 64; ++p) {
#pragma unroll
      for (int l = 0; l < 4; ++l)
        add_held(reinterpret_cast<GroupSums&>(sums[0][8 * p]), lefts[l], rights + (p * kPanel + l * 16 * 64) * 2, T());
    }
    close_products();
  }
  template <int open, int count>
  static void wait(float (&sums)[1][count][4]) {
#pragma unroll
    for (int p = 0; p < count / 8; ++p) wait_for_products<open>(reinterpret_cast<GroupSums&>(sums[0][8 * p]));
  }
  static void show() { show_copies(); }
};

/// Shared memory, from where rows may begin.
template <class Rows>
inline typename Rows::T* aligned_for(typename Rows::T* memory) {
  const auto address = static_cast<unsigned>(reinterpret_cast<uintptr_t>(memory));
  return memory + (0u - address) % Rows::kAlignment / sizeof(typename Rows::T);
}

/// N rows, of which `left` are there, by all threads of the block.
template <class Rows, int N, int threads>
inline void begin_load(typename Rows::T* rows, const typename Rows::T* from, int64_t step, int left) {
  constexpr int kVector = Rows::Numbers::kVector, kVectors = Rows::kFilled / kVector, kCount = N * kVectors;
  constexpr int kOnce = threads / kVectors;  // rows of one turn
  const int thread = static_cast<int>(threadIdx.x);
  if constexpr (threads % kVectors == 0 && kOnce % 8 == 0 && N <= 64) {
    // A thread has one column of vectors, and places that are the same distance apart.
    const int r = thread / kVectors, d = thread % kVectors * kVector;
    const auto* source = from + r * step + d;
    auto* place = rows + Rows::place(r, d);
#pragma unroll
    for (int first = 0; first < N; first += kOnce) {
      if (N % kOnce != 0 && r + first >= N) break;
      const bool there = r < left - first && (Rows::kFilled == Rows::kSize || d < Rows::kSize);
      begin_copy(place + Rows::place(first, 0), there ? source + first * step : from, there);
    }
  } else {
#pragma unroll 4
    for (int i = thread; i < kCount; i += threads) {
      const int r = i / kVectors, d = i % kVectors * kVector;
      const bool there = r < left && (Rows::kFilled == Rows::kSize || d < Rows::kSize);
      begin_copy(rows + Rows::place(r, d), there ? from + r * step + d : from, there);
    }
  }
}

/// x, or the nearest of 0 to `most`.
inline int within(int64_t x, int most) { return x < 0 ? 0 : x < most ? static_cast<int>(x) : most; }

/// Sums times the factors of their rows, by way of this warp's own rows in shared memory, to the `left` that are there.
template <class Rows>
inline void store(typename Rows::T* own, typename Rows::T* to, int64_t step, int left, const typename Rows::Sums& sums,
                  const float (&factors)[Rows::kTiles][2]) {
  using T = typename Rows::T;
  constexpr int kVector = Rows::Numbers::kVector, kVectors = Rows::kFilled / kVector;
  T* mine = Rows::of_warp(own);
  struct alignas(2 * sizeof(T)) Pair {
    T values[2];
  };
  struct alignas(16) Vector {
    T values[kVector];
  };
#pragma unroll
  for (int t = 0; t < Rows::kTiles; ++t) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int c = 0; c < Rows::kFilled / 8; ++c) {
        const float first = sums[t][c][2 * half] * factors[t][half];
        const float second = sums[t][c][2 * half + 1] * factors[t][half];
        *reinterpret_cast<Pair*>(mine + Rows::place(sum_row(t, half), sum_column(c, 0))) = {convert<T>(first),
                                                                                            convert<T>(second)};
      }
    }
  }
  __syncwarp();
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x) % 32; i < Rows::kTiles * 16 * kVectors; i += 32) {
    const int r = i / kVectors, d = i % kVectors * kVector;
    if (r < left && (Rows::kFilled == Rows::kSize || d < Rows::kSize))
      *reinterpret_cast<Vector*>(to + r * step + d) = *reinterpret_cast<const Vector*>(mine + Rows::place(r, d));
  }
}

/// Tiles of N rows of two matrices, in two places by turns.
template <class Rows, int N, int threads>
struct TwoByTurns {
  using T = typename Rows::T;
  static constexpr int kTile = N * Rows::kStep, kElements = 4 * kTile;
  T* memory;
  const T *first_rows, *second_rows;
  int64_t first_step, second_step, end;

  T* first(int turn) const { return memory + turn % 2 * 2 * kTile; }
  T* second(int turn) const { return first(turn) + kTile; }
  /// Without closing the group.
  void begin_load(int turn, int64_t at) const {
    if (at >= end) return;
    const int left = within(end - at, N);
    cuda::begin_load<Rows, N, threads>(first(turn), first_rows + at * first_step, first_step, left);
    cuda::begin_load<Rows, N, threads>(second(turn), second_rows + at * second_step, second_step, left);
  }
};

/// The rows of a block of so many warps, and of these those of this warp, and of those that go with it.
template <class Rows, int warps>
struct OwnRows {
  static constexpr int kWarp = 16 * Rows::kTiles, kBlock = kWarp * warps, kThreads = 32 * warps;
  int64_t first, together, together_end;
  explicit OwnRows(const Part& part) {
    constexpr int kMany = kWarp * Rows::kTogether;
    const int warp = warp_number();
    first = part.first + warp * kWarp;
    together = part.first + warp / Rows::kTogether * kMany;
    together_end = together + kMany;
  }
};

/// Over the 4 lanes of a row.
inline float quad_sum(float x) {
  x += __shfl_xor_sync(0xffffffffu, x, 1);
  return x + __shfl_xor_sync(0xffffffffu, x, 2);
}
inline float quad_max(float x) {
  x = std::fmax(x, __shfl_xor_sync(0xffffffffu, x, 1));
  return std::fmax(x, __shfl_xor_sync(0xffffffffu, x, 2));
}

}  // namespace adjoint::cuda
