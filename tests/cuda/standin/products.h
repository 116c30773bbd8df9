// Products of matrices by plain loops, for the stand-ins of cuBLAS and cuBLASLt.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>

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

/// Elements stored as S, sums and numbers in T. A bias has an element for each row of c, or is null.
template <class S, class T>
void multiply(Side a, Side b, Side c, int64_t batch, int64_t m, int64_t n, int64_t k, T alpha, T beta, bool fewer,
              const void* bias = nullptr) {
  auto at = [](const Side& side, int64_t number, int64_t row, int64_t col) {
    if (side.transposed) std::swap(row, col);
    return reinterpret_cast<const S*>(side.data)[number * side.batch + row + col * side.leading];
  };
  for (int64_t number = 0; number < batch; ++number) {
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        T sum(0);
        for (int64_t l = 0; l < k; ++l)
          sum += rounded(T(load(at(a, number, i, l))), fewer) * rounded(T(load(at(b, number, l, j))), fewer);
        S& place = reinterpret_cast<S*>(const_cast<char*>(c.data))[number * c.batch + i + j * c.leading];
        T result = beta == T(0) ? T(alpha * sum) : T(alpha * sum + beta * T(load(place)));
        if (bias) result += T(load(static_cast<const S*>(bias)[i]));
        store(place, result);
      }
    }
  }
}

}  // namespace standin
