// The gradients of attention on tensor cores; the formulas are those of attention_backward.h. A block owns the rows
// that it writes: what is summed over the other rows is summed in one order.
#pragma once

#include "attention_warps.h"

namespace adjoint::cuda {

/// The gradient of the query, and each row's sum of grad * out, which the gradients of key and value need, too.
template <class T, int D, int kWarps, int N>
inline void attention_for_query_by_warps(const AttentionArgs& args) {
  using Rows = WarpRows<T, D>;
  constexpr int kRows = 16 * kWarps;
  ADJOINT_DYNAMIC_SHARED(T, memory);
  const Part part(args, kRows);
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  T *queries = memory, *grads = queries + kRows * Rows::kStep;
  const int64_t own_first = part.first + warp * 16;
  const int64_t end = args.causal ? std::min<int64_t>(args.keys, part.first + kRows) : args.keys;
  const TwoByTurns<Rows, T, N> others{grads + kRows * Rows::kStep,
                                      part.of<const T>(args.key),
                                      part.of<const T>(args.value),
                                      args.key.row,
                                      args.value.row,
                                      end};
  Rows::template begin_load<kRows>(queries, part.of<const T>(args.query), args.query.row, part.first, args.rows);
  Rows::template begin_load<kRows>(grads, part.of<const T>(args.grad), args.grad.row, part.first, args.rows);
  close_group();
  others.begin_load(0, 0);
  wait_for_groups<1>();
  __syncthreads();
  queries += warp * 16 * Rows::kStep;
  grads += warp * 16 * Rows::kStep;

  float logsumexp[2] = {0.0f, 0.0f}, slope[2] = {0.0f, 0.0f};
  const T* out = part.of<const T>(args.out);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll 1
    for (int r = 8 * half; r < 8 * half + 8; ++r) {
      const int64_t row = own_first + r, place = part.number * args.rows + row;
      if (row >= args.rows) break;
      float sum = 0.0f;
      for (int d = lane; d < D; d += 32)
        sum += convert<float>(grads[r * Rows::kStep + d]) * convert<float>(out[row * args.out.row + d]);
#pragma unroll
      for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
      if (lane == 0) reinterpret_cast<float*>(args.slopes)[place] = sum;
      if (r % 8 == lane / 4) {
        slope[half] = sum;
        logsumexp[half] = reinterpret_cast<const float*>(args.logsumexp)[place] * kLog2E;
      }
    }
  }

  typename Rows::Lefts query_lefts, grad_lefts;
  Rows::load_lefts(query_lefts, queries);
  Rows::load_lefts(grad_lefts, grads);
  typename Rows::Sums sums;
  Rows::clear(sums);
  const float factor = static_cast<float>(args.scale) * kLog2E;
  int turn = 0;
  for (int64_t first = 0; first < end; first += N, ++turn) {
    wait_for_groups<0>();
    __syncthreads();
    others.begin_load(turn + 1, first + N);
    typename Rows::template Scores<N> scores, slopes;
    Rows::template score<N>(scores, query_lefts, others.first(turn));
    Rows::template score<N>(slopes, grad_lefts, others.second(turn));
    const bool whole =
        first + N <= end && part.first + kRows <= args.rows && (!args.causal || first + N <= part.first + 1);
#pragma unroll
    for (int n = 0; n < N / 8; ++n) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int64_t row = own_first + Rows::row(0, e / 2), key = first + Rows::column(n, e % 2);
        const bool counts = whole || (key < end && row < args.rows && (!args.causal || key <= row));
        const float share = counts ? fast_exp2(scores[0][n][e] * factor - logsumexp[e / 2]) : 0.0f;
        slopes[0][n][e] = counts ? share * (slopes[0][n][e] - slope[e / 2]) : 0.0f;
      }
    }
    Rows::template add_product<N>(sums, slopes, others.first(turn));
  }
  const auto scale = static_cast<float>(args.scale);
  const float factors[1][2] = {{scale, scale}};
  Rows::store(queries, part.of<T>(args.for_query), args.for_query.row, own_first, args.rows, sums, factors);
}

/// Scores, shares and slopes are transposed here: a row is a key.
template <class T, int D, int kWarps, int N>
inline void attention_for_key_and_value_by_warps(const AttentionArgs& args) {
  using Rows = WarpRows<T, D>;
  using Others = TwoByTurns<Rows, T, N>;
  constexpr int kRows = 16 * kWarps;
  ADJOINT_DYNAMIC_SHARED(T, memory);
  const Part part(args, kRows);
  const int warp = static_cast<int>(threadIdx.x) / 32;
  T *keys = memory, *values = keys + kRows * Rows::kStep;
  const int64_t own_first = part.first + warp * 16;
  const Others others{values + kRows * Rows::kStep,
                      part.of<const T>(args.query),
                      part.of<const T>(args.grad),
                      args.query.row,
                      args.grad.row,
                      args.rows};
  // Of each query: the logarithm of its sum, and its sum of grad * out; by turns, too.
  auto* facts = reinterpret_cast<float*>(others.memory + Others::kElements);
  auto load_facts = [&](int turn, int64_t at) {
    float* mine = facts + turn % 2 * 2 * N;
    for (int i = static_cast<int>(threadIdx.x); i < N; i += static_cast<int>(blockDim.x)) {
      const bool there = at + i < args.rows;
      const int64_t place = part.number * args.rows + at + i;
      mine[i] = there ? reinterpret_cast<const float*>(args.logsumexp)[place] * kLog2E : 0.0f;
      mine[N + i] = there ? reinterpret_cast<const float*>(args.slopes)[place] : 0.0f;
    }
  };
  // Rows before the first key do not see it.
  const int64_t start = args.causal ? part.first : 0;
  Rows::template begin_load<kRows>(keys, part.of<const T>(args.key), args.key.row, part.first, args.keys);
  Rows::template begin_load<kRows>(values, part.of<const T>(args.value), args.value.row, part.first, args.keys);
  close_group();
  others.begin_load(0, start);
  load_facts(0, start);
  wait_for_groups<1>();
  __syncthreads();
  keys += warp * 16 * Rows::kStep;
  values += warp * 16 * Rows::kStep;
  typename Rows::Lefts key_lefts, value_lefts;
  Rows::load_lefts(key_lefts, keys);
  Rows::load_lefts(value_lefts, values);
  typename Rows::Sums for_key, for_value;
  Rows::clear(for_key);
  Rows::clear(for_value);
  const float factor = static_cast<float>(args.scale) * kLog2E;
  int turn = 0;
  for (int64_t first = start; first < args.rows; first += N, ++turn) {
    wait_for_groups<0>();
    __syncthreads();
    others.begin_load(turn + 1, first + N);
    load_facts(turn + 1, first + N);
    const float* mine = facts + turn % 2 * 2 * N;
    typename Rows::template Scores<N> scores, slopes;
    Rows::template score<N>(scores, key_lefts, others.first(turn));
    Rows::template score<N>(slopes, value_lefts, others.second(turn));
    const bool whole =
        first + N <= args.rows && part.first + kRows <= args.keys && (!args.causal || part.first + kRows <= first + 1);
#pragma unroll
    for (int n = 0; n < N / 8; ++n) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int column = Rows::column(n, e % 2);
        const int64_t key = own_first + Rows::row(0, e / 2), row = first + column;
        const bool counts = whole || (key < args.keys && row < args.rows && (!args.causal || key <= row));
        scores[0][n][e] = counts ? fast_exp2(scores[0][n][e] * factor - mine[column]) : 0.0f;
        slopes[0][n][e] = counts ? scores[0][n][e] * (slopes[0][n][e] - mine[N + column]) : 0.0f;
      }
    }
    Rows::template add_product<N>(for_value, scores, others.second(turn));
    Rows::template add_product<N>(for_key, slopes, others.first(turn));
  }
  const auto scale = static_cast<float>(args.scale);
  const float scales[1][2] = {{scale, scale}}, ones[1][2] = {{1.0f, 1.0f}};
  Rows::store(keys, part.of<T>(args.for_key), args.for_key.row, own_first, args.keys, for_key, scales);
  Rows::store(values, part.of<T>(args.for_value), args.for_value.row, own_first, args.keys, for_value, ones);
}

}  // namespace adjoint::cuda
