// The mask of attention, where scores are in the registers of tensor cores.
#pragma once

#include "attention_rows.h"

namespace adjoint::cuda {

inline constexpr float kLog2E = 1.44269504088896341f, kLn2 = 0.693147180559945309f;

/// Two words of a mask that lie side by side.
template <class Word>
struct alignas(2 * sizeof(Word)) MaskPair {
  Word words[2];
};

/// Whether a row's words for two keys, the first of which is even, can be loaded at once.
template <class Extra>
inline bool lies_in_pairs(const Extra& extra) {
  const AttentionArgs& args = extra.args;
  return args.mask.key == 1 && args.mask.row % 2 == 0 && args.keys % 2 == 0 &&
         reinterpret_cast<uintptr_t>(extra.mask) % sizeof(MaskPair<typename Extra::Word>) == 0;
}

/// Scores of queries and keys, to base 2, with what the mask says of them. Those that are not there are nonsense.
template <class Rows, int N, class Extra>
inline void mask_scores(WarpSums<Rows::kTiles, N>& scores, const Extra& extra, float factor, int64_t first_row,
                        int64_t first_key) {
  using Word = typename Extra::Word;
  const MaskWords& mask = extra.args.mask;
  const int left = within(extra.args.keys - first_key, N) - sum_column(0, 0);
  const bool in_pairs = lies_in_pairs(extra);
#pragma unroll
  for (int t = 0; t < Rows::kTiles; ++t) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int64_t row = std::min<int64_t>(first_row + sum_row(t, half), extra.args.rows - 1);
      const Word* line = extra.mask + row * mask.row + (first_key + sum_column(0, 0)) * mask.key;
      auto meet = [&](int n, int second, Word word) {
        float& score = scores[t][n][2 * half + second];
        score = Extra::masked(score * factor, word, kLog2E);
      };
      if (in_pairs) {
#pragma unroll
        for (int n = 0; n < N / 8; ++n) {
          if (n * 8 >= left) continue;
          const auto pair = *reinterpret_cast<const MaskPair<Word>*>(line + n * 8);
          meet(n, 0, pair.words[0]);
          meet(n, 1, pair.words[1]);
        }
      } else {
#pragma unroll
        for (int n = 0; n < N / 8; ++n) {
          if (n * 8 < left) meet(n, 0, line[n * 8 * mask.key]);
          if (n * 8 + 1 < left) meet(n, 1, line[(n * 8 + 1) * mask.key]);
        }
      }
    }
  }
}

/// The words for this thread's keys, where all queries have the same; of keys that are not there the last one's.
template <class Rows, class Extra>
inline void load_words(typename Extra::Word (&words)[Rows::kTiles][2], const Extra& extra, int64_t first_key) {
#pragma unroll
  for (int t = 0; t < Rows::kTiles; ++t) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int64_t key = std::min<int64_t>(first_key + sum_row(t, half), extra.args.keys - 1);
      words[t][half] = extra.mask[key * extra.args.mask.key];
    }
  }
}

/// Scores of keys and queries, as mask_scores has them of queries and keys.
template <class Rows, int N, class Extra>
inline void mask_turned_scores(WarpSums<Rows::kTiles, N>& scores, const Extra& extra,
                               const typename Extra::Word (&words)[Rows::kTiles][2], float factor, int64_t first_key,
                               int64_t first_row) {
  const MaskWords& mask = extra.args.mask;
  if (mask.row == 0) {
#pragma unroll
    for (int t = 0; t < Rows::kTiles; ++t) {
#pragma unroll
      for (int n = 0; n < N / 8; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e) scores[t][n][e] = Extra::masked(scores[t][n][e] * factor, words[t][e / 2], kLog2E);
      }
    }
    return;
  }
  const int64_t mine = first_key + sum_row(0, 0);
  const int left = within(extra.args.keys - mine, 16 * Rows::kTiles);
#pragma unroll
  for (int n = 0; n < N / 8; ++n) {
#pragma unroll
    for (int second = 0; second < 2; ++second) {
      const int64_t row = std::min<int64_t>(first_row + sum_column(n, second), extra.args.rows - 1);
      const auto* line = extra.mask + row * mask.row + mine * mask.key;
#pragma unroll
      for (int t = 0; t < Rows::kTiles; ++t) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int distance = 16 * t + 8 * half;
          float& score = scores[t][n][2 * half + second];
          if (distance < left) score = Extra::masked(score * factor, line[distance * mask.key], kLog2E);
        }
      }
    }
  }
}

/// From the first key that can be seen to the last.
struct KeyRange {
  int64_t begin, end;
};

/// Of some keys, which of them a mask leaves that is the same for all queries; all, where it is not. For whole warps.
template <class Extra>
inline KeyRange seen_keys(const Extra& extra, int64_t begin, int64_t end) {
  if constexpr (Extra::kMasks) {
    const MaskWords& mask = extra.args.mask;
    if (mask.row == 0) {
      const int count = static_cast<int>(end - begin);
      int first = count, past = 0;
#pragma unroll 4
      for (int i = static_cast<int>(threadIdx.x) % 32; i < count; i += 32) {
        if (Extra::masked(0.0f, extra.mask[(begin + i) * mask.key], 1.0f) == -std::numeric_limits<float>::infinity())
          continue;
        first = std::min(first, i);
        past = i + 1;
      }
#pragma unroll
      for (int step = 16; step > 0; step /= 2) {
        first = std::min(first, __shfl_xor_sync(0xffffffffu, first, step));
        past = std::max(past, __shfl_xor_sync(0xffffffffu, past, step));
      }
      return {begin + std::min(first, past), begin + past};
    }
  }
  return {begin, end};
}

}  // namespace adjoint::cuda
