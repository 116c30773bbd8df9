// Attention of halves, or of floats as TF32, on tensor cores. While a tile of keys and values is worked on, the next is
// on its way to shared memory.
#pragma once

#include "attention_masks.h"

namespace adjoint::cuda {

/// Softmax as it goes: sums and results so far are scaled down when a greater score turns up. A score's power of two is
/// taken of its product with `factor`, which is positive: where the scale is not, scores change their sign first. Those
/// that have met a mask are multiplied before.
template <class Rows, int warps, int N, class Extra = Extras<void, false>>
inline void attention_forward_by_warps(const AttentionArgs& args) {
  using T = typename Rows::T;
  using Own = OwnRows<Rows, warps>;
  constexpr int kTiles = Rows::kTiles;
  ADJOINT_DYNAMIC_SHARED(T, memory);
  T* queries = aligned_for<Rows>(memory);
  const Part part(args, Own::kBlock);
  const Own own(part);
  const Extra extra(args, part);
  const KeyRange seen =
      seen_keys(extra, 0, args.causal ? std::min<int64_t>(args.keys, part.first + Own::kBlock) : args.keys);
  const int64_t start = seen.begin / N * N, end = seen.end;
  const TwoByTurns<Rows, N, Own::kThreads> others{queries + Own::kBlock * Rows::kStep,
                                                  part.of<const T>(args.key),
                                                  part.of<const T>(args.value),
                                                  args.key.row,
                                                  args.value.row,
                                                  end};
  begin_load<Rows, Own::kBlock, Own::kThreads>(queries, part.of<const T>(args.query) + part.first * args.query.row,
                                               args.query.row, within(args.rows - part.first, Own::kBlock));
  others.begin_load(0, start);
  close_group();
  T* mine = Rows::own(queries);

  const float infinite = std::numeric_limits<float>::infinity();
  const bool negative = args.scale < 0;
  const float factor = Extra::kMasks     ? 1.0f
                       : args.scale == 0 ? std::numeric_limits<float>::min()
                                         : static_cast<float>(negative ? -args.scale : args.scale) * kLog2E;
  float greatest[kTiles][2], total[kTiles][2];
  DropRow drops[kTiles][2];
  typename Rows::Sums sums;
  clear(sums);
#pragma unroll
  for (int t = 0; t < kTiles; ++t) greatest[t][0] = greatest[t][1] = -infinite, total[t][0] = total[t][1] = 0.0f;
  if constexpr (Extra::kDrops) {
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
#pragma unroll
      for (int half = 0; half < 2; ++half) drops[t][half] = extra.row_of(own.first + sum_row(t, half));
    }
  }
  int turn = 0;
  for (int64_t first = start; first < end; first += N, ++turn) {
    wait_for_groups<0>();
    Rows::show();
    __syncthreads();
    others.begin_load(turn + 1, first + N);
    close_group();
    if (args.causal && first >= own.together_end) continue;
    WarpSums<kTiles, N> scores;
    Rows::template begin_score<N>(scores, mine, others.first(turn));
    Rows::template wait<0>(scores);
    if constexpr (Extra::kMasks) {
      mask_scores<Rows, N>(scores, extra, static_cast<float>(args.scale) * kLog2E, own.first, first);
    } else if (negative) {
#pragma unroll
      for (int t = 0; t < kTiles; ++t) {
#pragma unroll
        for (int n = 0; n < N / 8; ++n) {
#pragma unroll
          for (int e = 0; e < 4; ++e) scores[t][n][e] = -scores[t][n][e];
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
            if (n * 8 >= left) scores[t][n][2 * half] = -infinite;
            if (n * 8 + 1 >= left) scores[t][n][2 * half + 1] = -infinite;
          }
        }
      }
    }
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float highest = greatest[t][half];
#pragma unroll
        for (int n = 0; n < N / 8; ++n)
          highest = std::fmax(highest, std::fmax(scores[t][n][2 * half], scores[t][n][2 * half + 1]));
        highest = quad_max(highest);
        // Where nothing has counted yet, nothing is to be scaled.
        const float base = highest == -infinite ? 0.0f : highest * factor;
        const float shrink = fast_exp2(__builtin_fma(greatest[t][half], factor, -base));
        greatest[t][half] = highest;
        float sum = total[t][half] * shrink;
#pragma unroll
        for (int n = 0; n < N / 8; ++n) {
#pragma unroll
          for (int e = 2 * half; e < 2 * half + 2; ++e) {
            scores[t][n][e] = fast_exp2(__builtin_fma(scores[t][n][e], factor, -base));
            sum += scores[t][n][e];
          }
        }
        total[t][half] = sum;
        if constexpr (Extra::kDrops) {
#pragma unroll
          for (int n = 0; n < N / 8; ++n) {
#pragma unroll
            for (int e = 2 * half; e < 2 * half + 2; ++e)
              scores[t][n][e] *= extra.template kept<float>(drops[t][half], first + sum_column(n, e % 2));
          }
        }
#pragma unroll
        for (int c = 0; c < Rows::kFilled / 8; ++c) {
          sums[t][c][2 * half] *= shrink;
          sums[t][c][2 * half + 1] *= shrink;
        }
      }
    }
    Rows::template begin_add_product<N>(sums, scores, others.second(turn));
    Rows::template wait<0>(sums);
  }

  float factors[kTiles][2];
  float* logsumexp = reinterpret_cast<float*>(args.logsumexp) + part.number * args.rows;
#pragma unroll
  for (int t = 0; t < kTiles; ++t) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float sum = quad_sum(total[t][half]);
      factors[t][half] = share_of<Extra>(sum);
      const int64_t row = own.first + sum_row(t, half);
      if (threadIdx.x % 4 == 0 && row < args.rows)
        logsumexp[row] = logarithm_of<Extra>(greatest[t][half] * factor * kLn2, sum);
    }
  }
  wait_for_groups<0>();  // no key may have been seen
  __syncthreads();       // nobody reads queries any more
  store<Rows>(mine, part.of<T>(args.out) + own.first * args.out.row, args.out.row,
              within(args.rows - own.first, Own::kWarp), sums, factors);
}

}  // namespace adjoint::cuda
