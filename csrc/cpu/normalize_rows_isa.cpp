// The loops of layer normalisation: sums of a row in several vectors, then one pass that writes.
#include "cpu/normalize_rows_isa.h"

#include <cstring>
#include <type_traits>

#include "cpu/vector_math.h"

namespace adjoint::cpu {
namespace {

/// Bytes of a vector of partial sums, whatever the instruction set.
constexpr int kPartBytes = 64;
/// Vectors of partial sums that hide the latency of each other.
constexpr int kParts = 4;
/// Elements that are summed in type A before they are added in double.
constexpr int64_t kBlock = 2048;

template <class A>
struct Wide {
  typedef A type __attribute__((vector_size(kPartBytes)));
};

/// Element i, or the vector that begins there.
template <class T, class A>
[[gnu::always_inline]] inline void load_at(const A* x, int64_t i, T& value) {
  std::memcpy(&value, x + i, sizeof value);
}

/// The sum of n terms; term(i, value) sets `value`, an A or a vector of them, to the terms from i on.
template <class A, class Term>
[[gnu::always_inline]] inline double sum_of_terms(int64_t n, Term term) {
  using V = typename Wide<A>::type;
  constexpr int64_t kWidth = kPartBytes / sizeof(A);
  double total = 0;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = n < begin + kBlock ? n : begin + kBlock;
    V part[kParts] = {};
    V value;
    int64_t i = begin;
    for (; i + kParts * kWidth <= end; i += kParts * kWidth) {
#pragma GCC unroll 4
      for (int p = 0; p < kParts; ++p) {
        term(i + p * kWidth, value);
        part[p] += value;
      }
    }
    for (; i + kWidth <= end; i += kWidth) {
      term(i, value);
      part[0] += value;
    }
    part[0] = (part[0] + part[1]) + (part[2] + part[3]);
    A lanes[kWidth];
    std::memcpy(lanes, &part[0], sizeof lanes);
#pragma GCC unroll 4
    for (int64_t half = kWidth / 2; half > 0; half /= 2) {
      for (int64_t w = 0; w < half; ++w) lanes[w] += lanes[w + half];
    }
    for (; i < end; ++i) {
      A rest;
      term(i, rest);
      lanes[0] += rest;
    }
    total += lanes[0];
  }
  return total;
}

template <class A>
Moments<A> moments(const A* x, int64_t n, bool centered) {
  const double count = static_cast<double>(n);
  A center = 0;
  if (centered) {
    const A first = static_cast<A>(
        sum_of_terms<A>(n, [&](int64_t i, auto& value) __attribute__((always_inline)) { load_at(x, i, value); }) /
        count);
    // A second pass removes the rounding error of the mean, which rstd would magnify in rows of nearly equal values.
    center = static_cast<A>(first + sum_of_terms<A>(n, [&](int64_t i, auto& value) __attribute__((always_inline)) {
                                      load_at(x, i, value);
                                      value -= first;
                                    }) / count);
  }
  const double squares = sum_of_terms<A>(n, [&](int64_t i, auto& value) __attribute__((always_inline)) {
    load_at(x, i, value);
    value -= center;
    value *= value;
  });
  return {center, static_cast<A>(squares / count)};
}

template <class A>
void normalize(const A* x, int64_t n, A center, A scale, const A* factor, const A* term, A* y) {
  ADJOINT_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - center) * scale * factor[i] + term[i];
}

template <class A>
void backward(const A* g, const A* x, int64_t n, A center, A scale, const A* factor, bool centered,
              const RowGradients<A>& to) {
  if (to.weight_sum != nullptr) {
    A* __restrict sum = to.weight_sum;
    for (int64_t i = 0; i < n; ++i) sum[i] += g[i] * ((x[i] - center) * scale);
  }
  if (to.bias_sum != nullptr) {
    A* __restrict sum = to.bias_sum;
    for (int64_t i = 0; i < n; ++i) sum[i] += g[i];
  }
  if (to.input == nullptr) return;
  auto weighted = [&](int64_t i, auto& value) __attribute__((always_inline)) {
    std::remove_reference_t<decltype(value)> other;
    load_at(g, i, value);
    load_at(factor, i, other);
    value *= other;
  };
  const double count = static_cast<double>(n);
  const A average = centered ? static_cast<A>(sum_of_terms<A>(n, weighted) / count) : A(0);
  const double products = sum_of_terms<A>(n, [&](int64_t i, auto& value) __attribute__((always_inline)) {
    std::remove_reference_t<decltype(value)> normal;
    weighted(i, value);
    load_at(x, i, normal);
    value *= (normal - center) * scale;
  });
  const A slope = static_cast<A>(products / count);
  A* y = to.input;
  ADJOINT_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) y[i] = scale * (g[i] * factor[i] - average - (x[i] - center) * scale * slope);
}

template <class A>
constexpr NormalizeLoops<A> kLoops = {.moments = moments<A>, .normalize = normalize<A>, .backward = backward<A>};

}  // namespace

template <class A>
template <Isa>
NormalizeLoops<A> NormalizeLoops<A>::compiled() {
  return kLoops<A>;
}
template NormalizeLoops<float> NormalizeLoops<float>::compiled<kIsa>();
template NormalizeLoops<double> NormalizeLoops<double>::compiled<kIsa>();

}  // namespace adjoint::cpu
