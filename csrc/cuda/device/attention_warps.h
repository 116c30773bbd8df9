// Attention of halves, or of floats as TF32, on tensor cores. A warp has 16 rows, or twice as many; the scores of these
// and a tile of keys are in its registers, and so are the sums. While a tile is worked on, the next is on its way.
#pragma once

#include "attention_part.h"
#include "warp_products.h"

namespace adjoint::cuda {

inline constexpr float kLog2E = 1.44269504088896341f, kLn2 = 0.693147180559945309f;

/// Rows of D numbers in shared memory, filled up with zeros, and what a warp does with 16 of its own rows of them, or
/// with kTiles times as many.
template <class T, int D, int kTiles = 1>
struct WarpRows {
  using Numbers = Product<T>;
  static constexpr int kFilled = (D + 15) / 16 * 16;
  static constexpr int kStep = kFilled + Numbers::kVector;  ///< from row to row: 8 rows lie in other banks
  static constexpr int kVectors = kFilled / Numbers::kVector;
  static constexpr int kDepths = kFilled / Numbers::kDepth, kColumns = kFilled / 8;
  using Lefts = typename Numbers::Left[kTiles][kDepths];
  using Sums = float[kTiles][kColumns][4];
  template <int N>
  using Scores = float[kTiles][N / 8][4];

  /// This thread's row, of 16 or so many times as many: `half` is 0 or 1.
  static int row(int tile, int half) { return tile * 16 + Numbers::lane() / 4 + 8 * half; }
  /// Its column of a tile of sums: `second` is 0 or 1.
  static int column(int number, int second) { return number * 8 + Numbers::lane() % 4 * 2 + second; }

  template <int N>
  static void begin_load(T* rows, const T* from, int64_t step, int64_t first, int64_t end) {
    for (int i = static_cast<int>(threadIdx.x); i < N * kVectors; i += static_cast<int>(blockDim.x)) {
      const int r = i / kVectors, d = i % kVectors * Numbers::kVector;
      const bool there = first + r < end && d < D;
      begin_copy(rows + r * kStep + d, there ? from + (first + r) * step + d : from, there);
    }
  }

  static void load_lefts(Lefts& lefts, const T* rows) {
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
#pragma unroll
      for (int d = 0; d < kDepths; ++d)
        Numbers::load_left(lefts[t][d], rows + t * 16 * kStep + d * Numbers::kDepth, kStep);
    }
  }

  /// scores = own rows @ rows', for N rows.
  template <int N>
  static void score(Scores<N>& scores, const Lefts& own, const T* rows) {
#pragma unroll
    for (int n = 0; n < N / 16; ++n) {
#pragma unroll
      for (int t = 0; t < kTiles; ++t) {
#pragma unroll
        for (int e = 0; e < 4; ++e) scores[t][2 * n][e] = scores[t][2 * n + 1][e] = 0.0f;
      }
#pragma unroll
      for (int d = 0; d < kDepths; ++d) {
        typename Numbers::Right rights[2];
        Numbers::load_rights(rights, rows + n * 16 * kStep + d * Numbers::kDepth, kStep);
#pragma unroll
        for (int t = 0; t < kTiles; ++t) {
          Numbers::add(scores[t][2 * n], own[t][d], rights[0]);
          Numbers::add(scores[t][2 * n + 1], own[t][d], rights[1]);
        }
      }
    }
  }

  /// sums += shares @ rows, for N rows.
  template <int N>
  static void add_product(Sums& sums, const Scores<N>& shares, const T* rows) {
#pragma unroll
    for (int l = 0; l < N / Numbers::kDepth; ++l) {
      typename Numbers::Left lefts[kTiles];
#pragma unroll
      for (int t = 0; t < kTiles; ++t) Numbers::left_of(lefts[t], shares[t] + l * (Numbers::kDepth / 8));
#pragma unroll
      for (int c = 0; c < kColumns / 2; ++c) {
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

  static void clear(Sums& sums) {
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
#pragma unroll
      for (int c = 0; c < kColumns; ++c) {
#pragma unroll
        for (int e = 0; e < 4; ++e) sums[t][c][e] = 0.0f;
      }
    }
  }

  /// Sums times the factors of their rows, by way of this warp's own rows in shared memory, to the rows from `first`
  /// on.
  static void store(T* rows, T* to, int64_t step, int64_t first, int64_t end, const Sums& sums,
                    const float (&factors)[kTiles][2]) {
    __syncwarp();
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
#pragma unroll
      for (int c = 0; c < kColumns; ++c) {
#pragma unroll
        for (int e = 0; e < 4; ++e)
          rows[row(t, e / 2) * kStep + column(c, e % 2)] = convert<T>(sums[t][c][e] * factors[t][e / 2]);
      }
    }
    __syncwarp();
    struct alignas(16) Vector {
      T values[Numbers::kVector];
    };
    for (int i = Numbers::lane(); i < kTiles * 16 * kVectors; i += 32) {
      const int r = i / kVectors, d = i % kVectors * Numbers::kVector;
      if (first + r < end && d < D)
        *reinterpret_cast<Vector*>(to + (first + r) * step + d) =
            *reinterpret_cast<const Vector*>(rows + r * kStep + d);
    }
  }
};

/// Over the 4 lanes of a row.
inline float quad_sum(float x) {
  x += __shfl_xor_sync(0xffffffffu, x, 1);
  return x + __shfl_xor_sync(0xffffffffu, x, 2);
}
inline float greater(float a, float b) { return b > a ? b : a; }
inline float quad_max(float x) {
  x = greater(x, __shfl_xor_sync(0xffffffffu, x, 1));
  return greater(x, __shfl_xor_sync(0xffffffffu, x, 2));
}

/// Tiles of N rows of two matrices, in two places by turns.
template <class Rows, class T, int N>
struct TwoByTurns {
  static constexpr int kElements = 4 * N * Rows::kStep;
  T* memory;
  const T *first_rows, *second_rows;
  int64_t first_step, second_step, end;

  T* first(int turn) const { return memory + turn % 2 * 2 * N * Rows::kStep; }
  T* second(int turn) const { return first(turn) + N * Rows::kStep; }
  void begin_load(int turn, int64_t at) const {
    if (at < end) {
      Rows::template begin_load<N>(first(turn), first_rows, first_step, at, end);
      Rows::template begin_load<N>(second(turn), second_rows, second_step, at, end);
    }
    close_group();
  }
};

/// Softmax as it goes: sums and results so far are scaled down when a greater score turns up. Scores are those of
/// powers of two.
template <class T, int D, int kTiles, int kWarps, int N>
inline void attention_forward_by_warps(const AttentionArgs& args) {
  using Rows = WarpRows<T, D, kTiles>;
  constexpr int kOwn = 16 * kTiles, kRows = kOwn * kWarps;
  ADJOINT_DYNAMIC_SHARED(T, memory);
  const Part part(args, kRows);
  const int warp = static_cast<int>(threadIdx.x) / 32;
  T* own = memory + warp * kOwn * Rows::kStep;
  const int64_t own_first = part.first + warp * kOwn;
  const int64_t end = args.causal ? std::min<int64_t>(args.keys, part.first + kRows) : args.keys;
  const TwoByTurns<Rows, T, N> others{memory + kRows * Rows::kStep,
                                      part.of<const T>(args.key),
                                      part.of<const T>(args.value),
                                      args.key.row,
                                      args.value.row,
                                      end};
  Rows::template begin_load<kRows>(memory, part.of<const T>(args.query), args.query.row, part.first, args.rows);
  close_group();
  others.begin_load(0, 0);
  wait_for_groups<1>();
  __syncthreads();
  typename Rows::Lefts queries;
  Rows::load_lefts(queries, own);

  const float factor = static_cast<float>(args.scale) * kLog2E, infinite = std::numeric_limits<float>::infinity();
  float greatest[kTiles][2], total[kTiles][2];
  typename Rows::Sums sums;
  Rows::clear(sums);
#pragma unroll
  for (int t = 0; t < kTiles; ++t) greatest[t][0] = greatest[t][1] = -infinite, total[t][0] = total[t][1] = 0.0f;
  int turn = 0;
  for (int64_t first = 0; first < end; first += N, ++turn) {
    wait_for_groups<0>();
    __syncthreads();
    others.begin_load(turn + 1, first + N);
    typename Rows::template Scores<N> scores;
    Rows::template score<N>(scores, queries, others.first(turn));
    const bool whole = first + N <= end && (!args.causal || first + N <= part.first + 1);
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
      float highest[2] = {greatest[t][0], greatest[t][1]};
#pragma unroll
      for (int n = 0; n < N / 8; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          float& score = scores[t][n][e];
          score *= factor;
          if (!whole) {
            const int64_t row = own_first + Rows::row(t, e / 2), key = first + Rows::column(n, e % 2);
            if (key >= end || (args.causal && key > row)) score = -infinite;
          }
          highest[e / 2] = greater(highest[e / 2], score);
        }
      }
      float base[2], shrink[2];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        highest[half] = quad_max(highest[half]);
        // Where nothing has counted yet, nothing is to be scaled.
        base[half] = highest[half] == -infinite ? 0.0f : highest[half];
        shrink[half] = fast_exp2(greatest[t][half] - base[half]);
        greatest[t][half] = highest[half];
        total[t][half] *= shrink[half];
      }
#pragma unroll
      for (int n = 0; n < N / 8; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          scores[t][n][e] = fast_exp2(scores[t][n][e] - base[e / 2]);
          total[t][e / 2] += scores[t][n][e];
        }
      }
#pragma unroll
      for (int c = 0; c < Rows::kColumns; ++c) {
#pragma unroll
        for (int e = 0; e < 4; ++e) sums[t][c][e] *= shrink[e / 2];
      }
    }
    Rows::template add_product<N>(sums, scores, others.second(turn));
  }

  float factors[kTiles][2];
  float* logsumexp = reinterpret_cast<float*>(args.logsumexp) + part.number * args.rows;
#pragma unroll
  for (int t = 0; t < kTiles; ++t) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float sum = quad_sum(total[t][half]);
      factors[t][half] = 1.0f / sum;
      const int64_t row = own_first + Rows::row(t, half);
      if (threadIdx.x % 4 == 0 && row < args.rows) logsumexp[row] = greatest[t][half] * kLn2 + std::log(sum);
    }
  }
  Rows::store(own, part.of<T>(args.out), args.out.row, own_first, args.rows, sums, factors);
}

}  // namespace adjoint::cuda
