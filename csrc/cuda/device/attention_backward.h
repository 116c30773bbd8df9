// The gradients of attention, from the logarithms of sums that the forward kept. With shares P = exp(scores -
// logsumexp): dV = P'g,  dP = g V',  dS = P (dP - the sum of g out),  dQ = dS K,  dK = dS'Q. A block owns the rows that
// it writes: what is summed over the other rows is summed in one order.
#pragma once

#include "attention.h"

namespace adjoint::cuda {

/// What a row needs of the forward.
template <class T>
struct RowFacts {
  T logsumexp[kRowsEach], slope[kRowsEach];
};

/// The scores of a tile of queries and one of keys become shares, `slopes` (g V') the gradients of scores. Shares that
/// are dropped are zeros at the end.
template <class T, int N, int D, class Extra>
inline void shares_and_slopes(const AttentionArgs& args, const Extra& extra, int64_t first_row, int64_t first_key,
                              const RowFacts<T>& facts, typename Tiles<T, N, D>::Scores& scores,
                              typename Tiles<T, N, D>::Scores& slopes) {
  using Tile = Tiles<T, N, D>;
  const T scale = static_cast<T>(args.scale);
#pragma unroll
  for (int i = 0; i < kRowsEach; ++i) {
    const int64_t row = first_row + Tile::row(i);
    const DropRow drops = extra.row_of(row);
#pragma unroll
    for (int j = 0; j < Tile::kKeysEach; ++j) {
      const int64_t key = first_key + Tile::key(j);
      const bool counts = sees(args, row, key);
      T score = scores[i][j] * scale;
      if constexpr (Extra::kMasks) score = extra.masked_or_none(score, row, key, T(1));
      const T share = counts ? std::exp(score - facts.logsumexp[i]) : T(0), kept = extra.template kept<T>(drops, key);
      scores[i][j] = share * kept;
      slopes[i][j] = counts ? share * (slopes[i][j] * kept - facts.slope[i]) : T(0);
    }
  }
}

/// The gradient of the query, and each row's sum of grad * out, which the gradients of key and value need, too.
template <class T, int N, int D, class Extra = Extras<void, false>>
inline void attention_for_query(const AttentionArgs& args) {
  using Tile = Tiles<T, N, D>;
  ADJOINT_DYNAMIC_SHARED(T, memory);
  T *queries = memory, *grads = queries + Tile::kTile, *keys = grads + Tile::kTile, *values = keys + Tile::kTile;
  T* square = values + Tile::kTile;
  const Part part(args, N);
  const Extra extra(args, part);
  Tile::load(queries, part.of<T>(args.query), args.query.row, part.first, args.rows);
  Tile::load(grads, part.of<T>(args.grad), args.grad.row, part.first, args.rows);
  Tile::load(values, part.of<T>(args.out), args.out.row, part.first, args.rows);
  __syncthreads();
  RowFacts<T> facts;
#pragma unroll
  for (int i = 0; i < kRowsEach; ++i) {
    const int r = Tile::row(i);
    const int64_t row = part.first + r, place = part.number * args.rows + row;
    T sum = T(0);
    for (int d = Tile::across(); d < D; d += kAcross) sum += grads[r * Tile::kStep + d] * values[r * Tile::kStep + d];
    facts.slope[i] = row_sum(sum);
    facts.logsumexp[i] = row < args.rows ? reinterpret_cast<const T*>(args.logsumexp)[place] : T(0);
    if (Tile::across() == 0 && row < args.rows) reinterpret_cast<T*>(args.slopes)[place] = facts.slope[i];
  }
  typename Tile::Sums sums;
  Tile::clear(sums);
  const int64_t end = keys_end(args, part.first, N);
  for (int64_t first = 0; first < end; first += N) {
    __syncthreads();
    Tile::load(keys, part.of<T>(args.key), args.key.row, first, args.keys);
    Tile::load(values, part.of<T>(args.value), args.value.row, first, args.keys);
    __syncthreads();
    typename Tile::Scores scores, slopes;
    Tile::score(scores, queries, keys);
    Tile::score(slopes, grads, values);
    shares_and_slopes<T, N, D>(args, extra, part.first, first, facts, scores, slopes);
    Tile::keep(square, slopes);
    __syncthreads();
    Tile::template add_product<false>(sums, square, keys);
  }
  T factors[kRowsEach];
#pragma unroll
  for (int i = 0; i < kRowsEach; ++i) factors[i] = static_cast<T>(args.scale);
  Tile::store(part.of<T>(args.for_query), args.for_query.row, part.first, args.rows, sums, factors);
}

template <class T, int N, int D, class Extra = Extras<void, false>>
inline void attention_for_key_and_value(const AttentionArgs& args) {
  using Tile = Tiles<T, N, D>;
  ADJOINT_DYNAMIC_SHARED(T, memory);
  T *queries = memory, *grads = queries + Tile::kTile, *keys = grads + Tile::kTile, *values = keys + Tile::kTile;
  T *shares = values + Tile::kTile, *square = shares + Tile::kSquare;
  const Part part(args, N, true);
  const Extra extra(args, part);
  Tile::load(keys, part.of<T>(args.key), args.key.row, part.first, args.keys);
  Tile::load(values, part.of<T>(args.value), args.value.row, part.first, args.keys);
  typename Tile::Sums for_key, for_value;
  Tile::clear(for_key);
  Tile::clear(for_value);
  // Rows before the first key do not see it.
  for (int64_t first = args.causal ? part.first : 0; first < args.rows; first += N) {
    __syncthreads();
    Tile::load(queries, part.of<T>(args.query), args.query.row, first, args.rows);
    Tile::load(grads, part.of<T>(args.grad), args.grad.row, first, args.rows);
    RowFacts<T> facts;
#pragma unroll
    for (int i = 0; i < kRowsEach; ++i) {
      const int64_t row = first + Tile::row(i), place = part.number * args.rows + row;
      facts.logsumexp[i] = row < args.rows ? reinterpret_cast<const T*>(args.logsumexp)[place] : T(0);
      facts.slope[i] = row < args.rows ? reinterpret_cast<const T*>(args.slopes)[place] : T(0);
    }
    __syncthreads();
    typename Tile::Scores scores, slopes;
    Tile::score(scores, queries, keys);
    Tile::score(slopes, grads, values);
    shares_and_slopes<T, N, D>(args, extra, first, part.first, facts, scores, slopes);
    Tile::keep(shares, scores);
    Tile::keep(square, slopes);
    __syncthreads();
    Tile::template add_product<true>(for_value, shares, grads);
    Tile::template add_product<true>(for_key, square, queries);
  }
  T scales[kRowsEach], ones[kRowsEach];
#pragma unroll
  for (int i = 0; i < kRowsEach; ++i) scales[i] = static_cast<T>(args.scale), ones[i] = T(1);
  Tile::store(part.of<T>(args.for_key), args.for_key.row, part.first, args.keys, for_key, scales);
  Tile::store(part.of<T>(args.for_value), args.for_value.row, part.first, args.keys, for_value, ones);
}

}  // namespace adjoint::cuda
