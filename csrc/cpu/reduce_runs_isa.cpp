// Loops over arrays of partial results, which the compiler turns into vectors.
#include "cpu/reduce_runs_isa.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "cpu/turn.h"
#include "cpu/vector_math.h"

ADJOINT_VECTOR_BINARY(pow)

namespace adjoint::cpu {
namespace {

/// Of partial results, whatever the instruction set: the bits of a sum depend on it.
constexpr int kPartBytes = 64;
/// Partial results that hide the latency of each other.
constexpr int kParts = 4;

template <class A>
struct Wide {
  typedef A type __attribute__((vector_size(kPartBytes)));
  static constexpr int64_t kWidth = kPartBytes / sizeof(A);
};

template <bool kMax, class A>
[[gnu::always_inline]] inline A better_of(A a, A b) {
  return (kMax ? a > b : a < b) ? a : b;
}

/// The first of the best of a vector's lanes: each with its neighbour, then in pairs of pairs.
template <bool kMax, class A>
[[gnu::always_inline]] inline A extreme_of_lanes(const A* lanes) {
  using V = typename Wide<A>::type;
  using Numbers = typename Wide<std::conditional_t<sizeof(A) == 4, int32_t, int64_t>>::type;
  V best;
  std::memcpy(&best, lanes, sizeof best);
  Numbers numbers;
  for (int64_t w = 0; w < Wide<A>::kWidth; ++w) numbers[w] = static_cast<int32_t>(w);
#pragma GCC unroll 4
  for (int apart = 1; apart < Wide<A>::kWidth; apart *= 2) {
    V other;
    shuffle(best, numbers ^ apart, other);
    best = (kMax ? other > best : other < best) ? other : best;
  }
  return best[0];
}

template <class A, bool kMax>
A extreme_of_run(const A* x, int64_t n) {
  // Comparing with NaN keeps the best so far, so that they are counted apart, in integers as wide as the elements.
  using Count = std::conditional_t<sizeof(A) == 4, int32_t, int64_t>;
  constexpr int64_t kLanes = 2 * kPartBytes / sizeof(A);
  A result = x[0];
  Count found = 0;
  int64_t i = 0;
  if (n >= kLanes) {
    A best[kLanes];
    Count nans[kLanes];
    for (int64_t w = 0; w < kLanes; ++w) best[w] = x[w];
    for (int64_t w = 0; w < kLanes; ++w) nans[w] = x[w] != x[w];
    for (i = kLanes; i + kLanes <= n; i += kLanes) {
      for (int64_t w = 0; w < kLanes; ++w) best[w] = better_of<kMax>(x[i + w], best[w]);
      for (int64_t w = 0; w < kLanes; ++w) nans[w] += x[i + w] != x[i + w];
    }
    for (int64_t w = 0; w < kLanes; ++w) found += nans[w];
    result = better_of<kMax>(extreme_of_lanes<kMax>(best + kLanes / 2), extreme_of_lanes<kMax>(best));
  }
  for (; i < n; ++i) {
    result = better_of<kMax>(x[i], result);
    found += x[i] != x[i];
  }
  return found ? std::numeric_limits<A>::quiet_NaN() : result;
}

template <bool kMax, class A>
[[gnu::always_inline]] inline A better_or_nan(A a, A b) {
  return (kMax ? a > b : a < b) | (a != a) ? a : b;
}

template <class A, bool kMax>
void extreme_of_rows(const A* x, int64_t step, int64_t n, int64_t lanes, A* out) {
  constexpr int64_t kLanes = 2 * kPartBytes / sizeof(A);
  int64_t lane = 0;
  for (; lane + kLanes <= lanes; lane += kLanes) {
    A best[kLanes];
    for (int64_t w = 0; w < kLanes; ++w) best[w] = x[lane + w];
    for (int64_t k = 1; k < n; ++k) {
      const A* row = x + k * step + lane;
      for (int64_t w = 0; w < kLanes; ++w) best[w] = better_or_nan<kMax>(best[w], row[w]);
    }
    for (int64_t w = 0; w < kLanes; ++w) out[lane + w] = best[w];
  }
  for (; lane < lanes; ++lane) {
    A best = x[lane];
    for (int64_t k = 1; k < n; ++k) best = better_or_nan<kMax>(best, x[k * step + lane]);
    out[lane] = best;
  }
}

void least_and_greatest(const int64_t* x, int64_t n, int64_t* least, int64_t* greatest) {
  int64_t low = x[0], high = x[0];
  for (int64_t i = 1; i < n; ++i) {
    low = better_of<false>(x[i], low);
    high = better_of<true>(x[i], high);
  }
  *least = low;
  *greatest = high;
}

double squares_of_run(const float* x, int64_t n) {
  typedef float Narrow __attribute__((vector_size(kPartBytes / 2)));
  using V = Wide<double>::type;
  constexpr int64_t kWidth = Wide<double>::kWidth;
  V total[kParts] = {};
  int64_t i = 0;
  for (; i + kParts * kWidth <= n; i += kParts * kWidth) {
#pragma GCC unroll 4
    for (int p = 0; p < kParts; ++p) {
      Narrow narrow;
      std::memcpy(&narrow, x + i + p * kWidth, sizeof narrow);
      V wide = __builtin_convertvector(narrow, V);
      total[p] += wide * wide;
    }
  }
  V all = (total[0] + total[1]) + (total[2] + total[3]);
  double result = 0;
  for (int64_t w = 0; w < kWidth; ++w) result += all[w];
  for (; i < n; ++i) result += static_cast<double>(x[i]) * x[i];
  return result;
}

void powers_of_run(const double* __restrict x, int64_t n, double p, double* __restrict out) {
  if (p == 3) {
    for (int64_t i = 0; i < n; ++i) out[i] = std::fabs(x[i]) * (x[i] * x[i]);
    return;
  }
  // Whole vectors only: the scalar function's last bit may differ.
  constexpr int64_t kWidth = Wide<double>::kWidth;
  const int64_t whole = n / kWidth * kWidth;
  for (int64_t i = 0; i < whole; ++i) out[i] = std::pow(std::fabs(x[i]), p);
  if (whole == n) return;
  double rest[kWidth] = {};
  for (int64_t i = whole; i < n; ++i) rest[i - whole] = x[i];
  for (int64_t w = 0; w < kWidth; ++w) rest[w] = std::pow(std::fabs(rest[w]), p);
  for (int64_t i = whole; i < n; ++i) out[i] = rest[i - whole];
}

template <int kLength, class A>
bool turn(const A* __restrict source, int64_t rows, A* __restrict target) {
  using V = Packed<A>;
  int64_t w = 0;
  for (; w + V::kWidth <= rows; w += V::kWidth) {
    typename V::Type in[kLength], out[kLength];
#pragma GCC unroll 16
    for (int k = 0; k < kLength; ++k) std::memcpy(&in[k], source + w * kLength + k * V::kWidth, sizeof(in[k]));
    turn_vectors<A, kLength>(in, out);
#pragma GCC unroll 16
    for (int k = 0; k < kLength; ++k) std::memcpy(target + k * rows + w, &out[k], sizeof(out[k]));
  }
  for (; w < rows; ++w)
    for (int k = 0; k < kLength; ++k) target[k * rows + w] = source[w * kLength + k];
  return true;
}

template <class A>
bool turn_rows(const A* source, int64_t n, int64_t rows, A* target) {
  switch (n) {
    case 2: return turn<2>(source, rows, target);
    case 4: return turn<4>(source, rows, target);
    case 8: return turn<8>(source, rows, target);
    case 16: return turn<16>(source, rows, target);
    default: return false;
  }
}

template <class A>
constexpr ExtremeLoops<A> kExtremes = {.greatest_of_run = extreme_of_run<A, true>,
                                       .least_of_run = extreme_of_run<A, false>,
                                       .greatest_of_rows = extreme_of_rows<A, true>,
                                       .least_of_rows = extreme_of_rows<A, false>};
constexpr RangeLoops kRanges = {.least_and_greatest = least_and_greatest};
constexpr PowerLoops kPowers = {.squares_of_run = squares_of_run, .powers_of_run = powers_of_run};
template <class A>
constexpr TurnLoops<A> kTurns = {.rows = turn_rows<A>};

}  // namespace

template <class A>
template <Isa>
ExtremeLoops<A> ExtremeLoops<A>::compiled() {
  return kExtremes<A>;
}
template ExtremeLoops<float> ExtremeLoops<float>::compiled<kIsa>();
template ExtremeLoops<double> ExtremeLoops<double>::compiled<kIsa>();
template ExtremeLoops<int64_t> ExtremeLoops<int64_t>::compiled<kIsa>();
template ExtremeLoops<int32_t> ExtremeLoops<int32_t>::compiled<kIsa>();

template <Isa>
RangeLoops RangeLoops::compiled() {
  return kRanges;
}
template RangeLoops RangeLoops::compiled<kIsa>();

template <Isa>
PowerLoops PowerLoops::compiled() {
  return kPowers;
}
template PowerLoops PowerLoops::compiled<kIsa>();

template <class A>
template <Isa>
TurnLoops<A> TurnLoops<A>::compiled() {
  return kTurns<A>;
}
template TurnLoops<float> TurnLoops<float>::compiled<kIsa>();
template TurnLoops<double> TurnLoops<double>::compiled<kIsa>();
template TurnLoops<int64_t> TurnLoops<int64_t>::compiled<kIsa>();
template TurnLoops<int32_t> TurnLoops<int32_t>::compiled<kIsa>();

}  // namespace adjoint::cpu
