// Products of matrices by plain loops, for the stand-ins of cuBLAS and cuBLASLt.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "halves.h"

namespace standin {

/// Fewer bits of the fraction, as TF32 has them.
template <class T>
T rounded(T x, bool fewer) {
  if constexpr (std::is_same_v<T, float>) {
    if (!fewer || !std::isfinite(x)) return x;
    const auto word = std::bit_cast<uint32_t>(x);
    return std::bit_cast<float>((word + 0x0fff + ((word >> 13) & 1)) & 0xffffe000u);
  }
  return x;
}

struct Side {
  const char* data;
  bool transposed;
  int64_t leading, batch;
};

/// A matrix of a batch, `inner` elements side by side: its rows, or its columns where `by_columns`.
template <class S, class T>
std::vector<T> read_lines(const Side& side, int64_t number, int64_t lines, int64_t inner, bool by_columns, bool fewer) {
  std::vector<T> read(static_cast<size_t>(lines * inner));
  const auto* data = reinterpret_cast<const S*>(side.data) + number * side.batch;
  const bool together = side.transposed != by_columns;  // a line's elements lie side by side
  for (int64_t line = 0; line < lines; ++line)
    for (int64_t l = 0; l < inner; ++l)
      read[static_cast<size_t>(line * inner + l)] =
          rounded(T(load(data[together ? line * side.leading + l : line + l * side.leading])), fewer);
  return read;
}

/// Elements stored as S, sums and numbers in T. A bias has an element for each row of c, or is null; it is added to
/// sums that are rounded to S where these are `split`, as NVIDIA's library does. `relu` is of what has its bias.
template <class S, class T>
void multiply(Side a, Side b, Side c, int64_t batch, int64_t m, int64_t n, int64_t k, T alpha, T beta, bool fewer,
              const void* bias = nullptr, bool split = false, bool relu = false) {
  for (int64_t number = 0; number < batch; ++number) {
    const std::vector<T> rows = read_lines<S, T>(a, number, m, k, false, fewer);
    const std::vector<T> columns = read_lines<S, T>(b, number, n, k, true, fewer);
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t i = 0; i < m; ++i) {
        const T *row = rows.data() + i * k, *column = columns.data() + j * k;
        T sum(0);
        for (int64_t l = 0; l < k; ++l) sum += row[l] * column[l];
        S& place = reinterpret_cast<S*>(const_cast<char*>(c.data))[number * c.batch + i + j * c.leading];
        T result = beta == T(0) ? T(alpha * sum) : T(alpha * sum + beta * T(load(place)));
        store(place, result);
        if (!bias) continue;
        if (split) result = T(load(place));
        result = result + T(load(static_cast<const S*>(bias)[i]));
        if constexpr (std::is_same_v<T, float>)
          if (relu && result < 0) result = 0;
        store(place, result);
      }
    }
  }
}

}  // namespace standin
