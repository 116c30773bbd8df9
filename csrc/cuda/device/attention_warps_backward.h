// The gradients of attention on tensor cores; the formulas are those of attention_backward.h. A block owns the rows
// that it writes: what is summed over the other rows is summed in one order.
#pragma once

#include "attention_warps.h"

namespace adjoint::cuda {

inline constexpr int kFactsThreads = 256, kFactsRows = 64;

/// What both need of each query, row by row: its logarithm of a sum, to base 2, and its sum of grad * out. The number
/// of rows is rounded up: four facts are copied at once.
struct QueryFacts {
  float *logsumexp, *slope;
  QueryFacts(const AttentionArgs& args, const Part& part) {
    const int64_t rows = (args.rows + 3) / 4 * 4;
    logsumexp = reinterpret_cast<float*>(args.slopes) + part.number * 2 * rows;
    slope = logsumexp + rows;
  }
};

template <class T, int D>
inline void attention_facts(const AttentionArgs& args) {
  constexpr int kVector = 16 / sizeof(T), kVectors = (D + kVector - 1) / kVector;
  constexpr int kLanes = kVectors <= 1    ? 1
                         : kVectors <= 2  ? 2
                         : kVectors <= 4  ? 4
                         : kVectors <= 8  ? 8
                         : kVectors <= 16 ? 16
                                          : 32;
  struct alignas(16) Vector {
    T values[kVector];
  };
  const Part part(args, kFactsRows);
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const T *grad = part.of<const T>(args.grad) + lane * kVector, *out = part.of<const T>(args.out) + lane * kVector;
  const QueryFacts facts(args, part);
  const float* logsumexp = reinterpret_cast<const float*>(args.logsumexp) + part.number * args.rows;
#pragma unroll
  for (int r = 0; r < kFactsRows; r += kFactsThreads / kLanes) {
    const int inside = r + static_cast<int>(threadIdx.x) / kLanes;
    const int64_t row = part.first + inside;
    const bool there = row < args.rows;
    float sum = 0.0f;
    if (there && lane < kVectors && inside < kFactsRows) {
      const Vector a = *reinterpret_cast<const Vector*>(grad + row * args.grad.row);
      const Vector b = *reinterpret_cast<const Vector*>(out + row * args.out.row);
#pragma unroll
      for (int e = 0; e < kVector; ++e) sum += convert<float>(a.values[e]) * convert<float>(b.values[e]);
    }
#pragma unroll
    for (int step = kLanes / 2; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    if (lane != 0 || inside >= kFactsRows || row >= (args.rows + 3) / 4 * 4) continue;
    facts.logsumexp[row] = there ? logsumexp[row] * kLog2E : 0.0f;
    facts.slope[row] = sum;
  }
}

template <class Rows, int warps, int N, class Extra = Extras<void, false>>
inline void attention_for_query_by_warps(const AttentionArgs& args) {
  using T = typename Rows::T;
  using Own = OwnRows<Rows, warps>;
  constexpr int kTiles = Rows::kTiles;
  ADJOINT_DYNAMIC_SHARED(T, memory);
  T *queries = aligned_for<Rows>(memory), *grads = queries + Own::kBlock * Rows::kStep;
  const Part part(args, Own::kBlock);
  const Own own(part);
  const Extra extra(args, part);
  const KeyRange seen =
      seen_keys(extra, 0, args.causal ? std::min<int64_t>(args.keys, part.first + Own::kBlock) : args.keys);
  const int64_t start = seen.begin / N * N, end = seen.end;
  const TwoByTurns<Rows, N, Own::kThreads> others{grads + Own::kBlock * Rows::kStep,
                                                  part.of<const T>(args.key),
                                                  part.of<const T>(args.value),
                                                  args.key.row,
                                                  args.value.row,
                                                  end};
  const int there = within(args.rows - part.first, Own::kBlock);
  begin_load<Rows, Own::kBlock, Own::kThreads>(queries, part.of<const T>(args.query) + part.first * args.query.row,
                                               args.query.row, there);
  begin_load<Rows, Own::kBlock, Own::kThreads>(grads, part.of<const T>(args.grad) + part.first * args.grad.row,
                                               args.grad.row, there);
  others.begin_load(0, start);
  close_group();
  queries = Rows::own(queries), grads = Rows::own(grads);

  const QueryFacts facts(args, part);
  float logsumexp[kTiles][2], slope[kTiles][2];
  DropRow drops[kTiles][2];
#pragma unroll
  for (int t = 0; t < kTiles; ++t) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int64_t row = own.first + sum_row(t, half);
      logsumexp[t][half] = row < args.rows ? facts.logsumexp[row] : 0.0f;
      slope[t][half] = row < args.rows ? facts.slope[row] : 0.0f;
      drops[t][half] = extra.row_of(row);
    }
  }
  typename Rows::Sums sums;
  clear(sums);
  const float scaled = static_cast<float>(args.scale) * kLog2E, factor = Extra::kMasks ? 1.0f : scaled;
  int turn = 0;
  for (int64_t first = start; first < end; first += N, ++turn) {
    wait_for_groups<0>();
    Rows::show();
    __syncthreads();
    others.begin_load(turn + 1, first + N);
    close_group();
    if (args.causal && first >= own.together_end) continue;
    WarpSums<kTiles, N> scores, slopes;
    Rows::template begin_score<N>(scores, queries, others.first(turn));
    Rows::template begin_score<N>(slopes, grads, others.second(turn));
    Rows::template wait<1>(scores);
    if constexpr (Extra::kMasks) mask_scores<Rows, N>(scores, extra, scaled, own.first, first);
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
#pragma unroll
      for (int n = 0; n < N / 8; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e)
          scores[t][n][e] = fast_exp2(__builtin_fma(scores[t][n][e], factor, -logsumexp[t][e / 2]));
      }
    }
    Rows::template wait<0>(slopes);
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
#pragma unroll
      for (int n = 0; n < N / 8; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          if constexpr (Extra::kDrops)
            slopes[t][n][e] *= extra.template kept<float>(drops[t][e / 2], first + sum_column(n, e % 2));
          slopes[t][n][e] = scores[t][n][e] * (slopes[t][n][e] - slope[t][e / 2]);
        }
      }
    }
    if (first + N > end || (args.causal && first + N > own.first + 1)) {
#pragma unroll
      for (int t = 0; t < kTiles; ++t) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int64_t past = args.causal ? std::min<int64_t>(end, own.first + sum_row(t, half) + 1) : end;
          const int left = within(past - first, N) - sum_column(0, 0);
#pragma unroll
          for (int n = 0; n < N / 8; ++n) {
            if (n * 8 >= left) slopes[t][n][2 * half] = 0.0f;
            if (n * 8 + 1 >= left) slopes[t][n][2 * half + 1] = 0.0f;
          }
        }
      }
    }
    Rows::template begin_add_product<N>(sums, slopes, others.first(turn));
    Rows::template wait<0>(sums);
  }
  float scales[kTiles][2];
#pragma unroll
  for (int t = 0; t < kTiles; ++t) scales[t][0] = scales[t][1] = static_cast<float>(args.scale);
  wait_for_groups<0>();  // no key may have been seen
  __syncthreads();       // nobody reads queries any more
  store<Rows>(queries, part.of<T>(args.for_query) + own.first * args.for_query.row, args.for_query.row,
              within(args.rows - own.first, Own::kWarp), sums, scales);
}

/// Scores, shares and slopes are transposed here: a row is a key.
template <class Rows, int warps, int N, class Extra = Extras<void, false>>
inline void attention_for_key_and_value_by_warps(const AttentionArgs& args) {
  using T = typename Rows::T;
  using Own = OwnRows<Rows, warps>;
  using Others = TwoByTurns<Rows, N, Own::kThreads>;
  constexpr int kTiles = Rows::kTiles;
  ADJOINT_DYNAMIC_SHARED(T, memory);
  T *keys = aligned_for<Rows>(memory), *values = keys + Own::kBlock * Rows::kStep;
  const Part part(args, Own::kBlock, true);
  const Own own(part);
  const Extra extra(args, part);
  const Others others{values + Own::kBlock * Rows::kStep,
                      part.of<const T>(args.query),
                      part.of<const T>(args.grad),
                      args.query.row,
                      args.grad.row,
                      args.rows};
  const QueryFacts all(args, part);
  auto* facts = reinterpret_cast<float*>(others.memory + Others::kElements);  // by turns, too
  auto begin_load_others = [&](int turn, int64_t at) {
    others.begin_load(turn, at);
    const int thread = static_cast<int>(threadIdx.x), i = thread % (N / 4) * 4;
    if (thread < N / 2 && at < args.rows) {
      const float* from = thread < N / 4 ? all.logsumexp : all.slope;
      const bool there = at + i < args.rows;
      begin_copy(facts + turn % 2 * 2 * N + thread * 4, there ? from + at + i : from, there);
    }
    close_group();
  };
  const KeyRange seen = seen_keys(extra, part.first, std::min<int64_t>(part.first + Own::kBlock, args.keys));
  // Rows before the first key do not see it.
  const int64_t start = seen.begin == seen.end ? args.rows : args.causal ? part.first : 0;
  const int there = within(args.keys - part.first, Own::kBlock);
  begin_load<Rows, Own::kBlock, Own::kThreads>(keys, part.of<const T>(args.key) + part.first * args.key.row,
                                               args.key.row, there);
  begin_load<Rows, Own::kBlock, Own::kThreads>(values, part.of<const T>(args.value) + part.first * args.value.row,
                                               args.value.row, there);
  begin_load_others(0, start);
  keys = Rows::own(keys), values = Rows::own(values);
  typename Rows::Sums for_key, for_value;
  clear(for_key);
  clear(for_value);
  const float scaled = static_cast<float>(args.scale) * kLog2E, factor = Extra::kMasks ? 1.0f : scaled;
  const auto raised = static_cast<float>(args.drop.factor);
  typename Extra::Word words[kTiles][2];
  if constexpr (Extra::kMasks)
    if (args.mask.row == 0) load_words<Rows>(words, extra, own.first);
  int turn = 0;
  for (int64_t first = start; first < args.rows; first += N, ++turn) {
    wait_for_groups<0>();
    Rows::show();
    __syncthreads();
    begin_load_others(turn + 1, first + N);
    if (args.causal && first + N <= own.together) continue;
    const float* mine = facts + turn % 2 * 2 * N + sum_column(0, 0);
    WarpSums<kTiles, N> scores, slopes;
    Rows::template begin_score<N>(scores, keys, others.first(turn));
    Rows::template begin_score<N>(slopes, values, others.second(turn));
    Rows::template wait<1>(scores);
    if constexpr (Extra::kMasks) mask_turned_scores<Rows, N>(scores, extra, words, scaled, own.first, first);
    const bool whole = first + N <= args.rows && (!args.causal || first + 1 >= own.first + Own::kWarp);
#pragma unroll
    for (int n = 0; n < N / 8; ++n) {
#pragma unroll
      for (int second = 0; second < 2; ++second) {
        const float logsumexp = mine[n * 8 + second];
        const DropRow drops = extra.row_of(first + sum_column(n, second));
#pragma unroll
        for (int t = 0; t < kTiles; ++t) {
#pragma unroll
          for (int e = second; e < 4; e += 2) {
            scores[t][n][e] = fast_exp2(__builtin_fma(scores[t][n][e], factor, -logsumexp));
            // Shares that are dropped become negative.
            if (extra.drops_at(drops, own.first + sum_row(t, e / 2))) scores[t][n][e] = -scores[t][n][e];
          }
        }
      }
    }
    auto mask = [&](WarpSums<kTiles, N>& numbers) {
      const int left = within(args.rows - first, N) - sum_column(0, 0);
#pragma unroll
      for (int t = 0; t < kTiles; ++t) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int64_t key = own.first + sum_row(t, half);
          const int seen = (args.causal ? within(key - first, N) : 0) - sum_column(0, 0);
#pragma unroll
          for (int n = 0; n < N / 8; ++n) {
            if (n * 8 < seen || n * 8 >= left) numbers[t][n][2 * half] = 0.0f;
            if (n * 8 + 1 < seen || n * 8 + 1 >= left) numbers[t][n][2 * half + 1] = 0.0f;
          }
        }
      }
    };
    if (!whole) mask(scores);
    if constexpr (Extra::kDrops) {
      WarpSums<kTiles, N> kept;
#pragma unroll
      for (int t = 0; t < kTiles; ++t) {
#pragma unroll
        for (int n = 0; n < N / 8; ++n) {
#pragma unroll
          for (int e = 0; e < 4; ++e) kept[t][n][e] = scores[t][n][e] < 0.0f ? 0.0f : scores[t][n][e] * raised;
        }
      }
      Rows::template begin_add_product<N>(for_value, kept, others.second(turn));
    } else {
      Rows::template begin_add_product<N>(for_value, scores, others.second(turn));
    }
    Rows::template wait<1>(slopes);
#pragma unroll
    for (int n = 0; n < N / 8; ++n) {
#pragma unroll
      for (int second = 0; second < 2; ++second) {
        const float slope = mine[N + n * 8 + second];
#pragma unroll
        for (int t = 0; t < kTiles; ++t) {
#pragma unroll
          for (int e = second; e < 4; e += 2) {
            float& score = scores[t][n][e];
            if constexpr (Extra::kDrops) {
              slopes[t][n][e] = score < 0.0f ? 0.0f : slopes[t][n][e] * raised;
              score = std::fabs(score);
            }
            slopes[t][n][e] = score * (slopes[t][n][e] - slope);
          }
        }
      }
    }
    if (!whole) mask(slopes);
    Rows::template begin_add_product<N>(for_key, slopes, others.first(turn));
    Rows::template wait<0>(for_value);
    Rows::template wait<0>(for_key);
  }
  float scales[kTiles][2], ones[kTiles][2];
#pragma unroll
  for (int t = 0; t < kTiles; ++t) {
    scales[t][0] = scales[t][1] = static_cast<float>(args.scale);
    ones[t][0] = ones[t][1] = 1.0f;
  }
  const int left = within(args.keys - own.first, Own::kWarp);
  wait_for_groups<0>();  // no query may have seen these keys
  __syncthreads();       // nobody reads keys and values any more
  store<Rows>(keys, part.of<T>(args.for_key) + own.first * args.for_key.row, args.for_key.row, left, for_key, scales);
  store<Rows>(values, part.of<T>(args.for_value) + own.first * args.for_value.row, args.for_value.row, left, for_value,
              ones);
}

}  // namespace adjoint::cuda
