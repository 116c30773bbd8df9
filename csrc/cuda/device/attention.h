// Attention and its gradients: tiles of rows in shared memory, and scores that exist only there.
//
// A block has 4 * N threads for tiles of N rows, and a thread has 4 rows of a tile: every (N / 4)th from its `down` on.
// Of columns it has every 16th from its `across` on, so that 16 neighbours share a row.
#pragma once

#include "attention_extras.h"

namespace adjoint::cuda {

inline constexpr int kAcross = 16, kRowsEach = 4;

/// Tiles of N rows of D elements, filled up to whole vectors with zeros, and squares of N x N scores.
template <class T, int N, int D>
struct Tiles {
  static constexpr int kVector = 16 / sizeof(T);
  static constexpr int kThreads = kRowsEach * N;
  static constexpr int kFilled = (D + kVector - 1) / kVector * kVector;
  static constexpr int kStep = kFilled + kVector;  ///< from row to row: neighbours' vectors lie in other banks
  static constexpr int kSquareStep = N + kVector;
  static constexpr int kTile = N * kStep, kSquare = N * kSquareStep;
  static constexpr int kColumns = (D + kAcross - 1) / kAcross, kKeysEach = N / kAcross;

  struct alignas(16) Vector {
    T values[kVector];
  };
  using Scores = T[kRowsEach][kKeysEach];
  using Sums = T[kRowsEach][kColumns];

  static int across() { return static_cast<int>(threadIdx.x) % kAcross; }
  static int row(int i) { return static_cast<int>(threadIdx.x) / kAcross + i * (N / kRowsEach); }
  static int key(int j) { return across() + j * kAcross; }

  static void load(T* tile, const T* from, int64_t step, int64_t first, int64_t rows) {
    for (int i = static_cast<int>(threadIdx.x); i < N * kFilled; i += kThreads) {
      const int r = i / kFilled, d = i % kFilled;
      tile[r * kStep + d] = first + r < rows && d < D ? from[(first + r) * step + d] : T(0);
    }
  }

  /// scores = x y', for the rows of two tiles.
  static void score(Scores& scores, const T* x, const T* y) {
    for (int i = 0; i < kRowsEach; ++i)
      for (int j = 0; j < kKeysEach; ++j) scores[i][j] = T(0);
#pragma unroll 4
    for (int d = 0; d < kFilled; d += kVector) {
      Vector a[kRowsEach];
#pragma unroll
      for (int i = 0; i < kRowsEach; ++i) a[i] = *reinterpret_cast<const Vector*>(x + row(i) * kStep + d);
#pragma unroll
      for (int j = 0; j < kKeysEach; ++j) {
        const Vector b = *reinterpret_cast<const Vector*>(y + key(j) * kStep + d);
#pragma unroll
        for (int i = 0; i < kRowsEach; ++i) {
#pragma unroll
          for (int e = 0; e < kVector; ++e) scores[i][j] += a[i].values[e] * b.values[e];
        }
      }
    }
  }

  static void keep(T* square, const Scores& scores) {
#pragma unroll
    for (int i = 0; i < kRowsEach; ++i) {
#pragma unroll
      for (int j = 0; j < kKeysEach; ++j) square[row(i) * kSquareStep + key(j)] = scores[i][j];
    }
  }

  /// sums += square @ tile; with the square transposed where it says so.
  template <bool transposed>
  static void add_product(Sums& sums, const T* square, const T* tile) {
    for (int l = 0; l < N; ++l) {
      T factor[kRowsEach];
#pragma unroll
      for (int i = 0; i < kRowsEach; ++i)
        factor[i] = transposed ? square[l * kSquareStep + row(i)] : square[row(i) * kSquareStep + l];
#pragma unroll
      for (int j = 0; j < kColumns; ++j) {
        const int d = across() + j * kAcross;
        const T value = d < D ? tile[l * kStep + d] : T(0);
#pragma unroll
        for (int i = 0; i < kRowsEach; ++i) sums[i][j] += factor[i] * value;
      }
    }
  }

  static void clear(Sums& sums) {
#pragma unroll
    for (int i = 0; i < kRowsEach; ++i) {
#pragma unroll
      for (int j = 0; j < kColumns; ++j) sums[i][j] = T(0);
    }
  }

  /// Row i of the sums times factors[i], to where it belongs.
  static void store(T* to, int64_t step, int64_t first, int64_t rows, const Sums& sums, const T (&factors)[kRowsEach]) {
#pragma unroll
    for (int i = 0; i < kRowsEach; ++i) {
      if (first + row(i) >= rows) continue;
#pragma unroll
      for (int j = 0; j < kColumns; ++j) {
        const int d = across() + j * kAcross;
        if (d < D) to[(first + row(i)) * step + d] = sums[i][j] * factors[i];
      }
    }
  }
};

/// Over the 16 threads of a row.
template <class T>
inline T row_sum(T x) {
#pragma unroll
  for (int step = kAcross / 2; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}
template <class T>
inline T row_max(T x) {
#pragma unroll
  for (int step = kAcross / 2; step > 0; step /= 2) {
    const T other = __shfl_xor_sync(0xffffffffu, x, step);
    x = other > x ? other : x;
  }
  return x;
}

inline bool sees(const AttentionArgs& args, int64_t row, int64_t key) {
  return row < args.rows && key < args.keys && (!args.causal || key <= row);
}

/// The keys that a tile of rows sees end here.
inline int64_t keys_end(const AttentionArgs& args, int64_t first, int rows) {
  return args.causal ? std::min<int64_t>(args.keys, first + rows) : args.keys;
}

/// Softmax as it goes: sums and results so far are scaled down when a greater score turns up.
template <class T, int N, int D, class Extra = Extras<void, false>>
inline void attention_forward(const AttentionArgs& args) {
  using Tile = Tiles<T, N, D>;
  ADJOINT_DYNAMIC_SHARED(T, memory);
  T *queries = memory, *others = queries + Tile::kTile, *shares = others + Tile::kTile;
  const Part part(args, N);
  const Extra extra(args, part);
  const T scale = static_cast<T>(args.scale), infinite = std::numeric_limits<T>::infinity();
  Tile::load(queries, part.of<T>(args.query), args.query.row, part.first, args.rows);
  T greatest[kRowsEach], total[kRowsEach];
  typename Tile::Sums sums;
  Tile::clear(sums);
#pragma unroll
  for (int i = 0; i < kRowsEach; ++i) greatest[i] = -infinite, total[i] = T(0);
  const int64_t end = keys_end(args, part.first, N);
  for (int64_t first = 0; first < end; first += N) {
    __syncthreads();
    Tile::load(others, part.of<T>(args.key), args.key.row, first, end);
    __syncthreads();
    typename Tile::Scores scores;
    Tile::score(scores, queries, others);
#pragma unroll
    for (int i = 0; i < kRowsEach; ++i) {
      T highest = greatest[i];
#pragma unroll
      for (int j = 0; j < Tile::kKeysEach; ++j) {
        T& score = scores[i][j];
        const int64_t row = part.first + Tile::row(i), key = first + Tile::key(j);
        score = key < end && (!args.causal || key <= row) ? score * scale : -infinite;
        if constexpr (Extra::kMasks) score = extra.masked_or_none(score, row, key, T(1));
        highest = score > highest ? score : highest;
      }
      highest = row_max(highest);
      // Where nothing has counted yet, nothing is to be scaled.
      const T base = highest == -infinite ? T(0) : highest;
      const T shrink = std::exp(greatest[i] - base);
      T sum = T(0);
#pragma unroll
      for (int j = 0; j < Tile::kKeysEach; ++j) sum += scores[i][j] = std::exp(scores[i][j] - base);
      if constexpr (Extra::kDrops) {
        const DropRow row = extra.row_of(part.first + Tile::row(i));
#pragma unroll
        for (int j = 0; j < Tile::kKeysEach; ++j) scores[i][j] *= extra.template kept<T>(row, first + Tile::key(j));
      }
      total[i] = total[i] * shrink + row_sum(sum);
      greatest[i] = highest;
#pragma unroll
      for (int j = 0; j < Tile::kColumns; ++j) sums[i][j] *= shrink;
    }
    Tile::keep(shares, scores);
    __syncthreads();
    Tile::load(others, part.of<T>(args.value), args.value.row, first, end);
    __syncthreads();
    Tile::template add_product<false>(sums, shares, others);
  }
  T factors[kRowsEach];
  T* logsumexp = reinterpret_cast<T*>(args.logsumexp) + part.number * args.rows;
#pragma unroll
  for (int i = 0; i < kRowsEach; ++i) {
    factors[i] = share_of<Extra>(total[i]);
    const int64_t row = part.first + Tile::row(i);
    if (Tile::across() == 0 && row < args.rows) logsumexp[row] = logarithm_of<Extra>(greatest[i], total[i]);
  }
  Tile::store(part.of<T>(args.out), args.out.row, part.first, args.rows, sums, factors);
}

}  // namespace adjoint::cuda
