// Reductions whose state is a single value joined by one operation: sum, product, greatest, least, any, all, norms.
#pragma once

#include "cpu/reduce_driver.h"

namespace adjoint::cpu {

/// The widest vector that every x86-64 and arm64 machine has.
template <class A>
struct VectorOf {
  typedef A type __attribute__((vector_size(16)));
};

/// Loads from any address.
template <class V, class A>
inline V load_vector(const A* x) {
  V value;
  std::memcpy(&value, x, sizeof(V));
  return value;
}

/// Vectors of partial results that hide the latency of each other.
constexpr int kVectors = 8;
/// So many elements of a lane are joined before what they give is joined to the lane: a sum that has grown large would
/// round away the last digits of each element, squares all in one direction.
constexpr int64_t kSteps = 16;

/// part[v]: the elements of vectors v, v + kVectors, ... up to `steps` of each, joined.
template <class A, class Map, class Join, class V>
inline void fold_steps(const A* x, int64_t steps, Map map, Join join, V (&part)[kVectors]) {
  constexpr int kWidth = sizeof(V) / sizeof(A);
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) part[v] = map(load_vector<V>(x + v * kWidth));
  for (int64_t step = 1; step < steps; ++step) {
    x += kVectors * kWidth;
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) part[v] = join(part[v], map(load_vector<V>(x + v * kWidth)));
  }
}

/// Joins map(x[0]) ... map(x[n - 1]), n > 0. `join` and `map` take scalars, and vectors too where A is a floating type:
/// several of partial results keep rounding errors small.
template <class A, class Map, class Join>
inline A fold_run(const A* x, int64_t n, Map map, Join join) {
  if constexpr (std::is_floating_point_v<A>) {
    using V = typename VectorOf<A>::type;
    constexpr int kWidth = sizeof(V) / sizeof(A);
    int64_t i = 0;
    A result;
    if (n >= kWidth) {
      V total = map(load_vector<V>(x));
      i = kWidth;
      if (n >= kVectors * kWidth) {
        const int64_t steps = n / (kVectors * kWidth);
        V part[kVectors], more[kVectors];
        fold_steps(x, std::min(steps, kSteps), map, join, part);
        for (int64_t step = kSteps; step < steps; step += kSteps) {
          fold_steps(x + step * kVectors * kWidth, std::min(steps - step, kSteps), map, join, more);
#pragma GCC unroll 8
          for (int v = 0; v < kVectors; ++v) part[v] = join(part[v], more[v]);
        }
        i = steps * kVectors * kWidth;
#pragma GCC unroll 8
        for (int half = kVectors / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
          for (int v = 0; v < half; ++v) part[v] = join(part[v], part[v + half]);
        }
        total = part[0];
      }
      for (; i + kWidth <= n; i += kWidth) total = join(total, map(load_vector<V>(x + i)));
      result = join(total[0], total[1]);
      if constexpr (kWidth == 4) result = join(result, join(total[2], total[3]));
    } else {
      result = map(x[0]);
      i = 1;
    }
    for (; i < n; ++i) result = join(result, map(x[i]));
    return result;
  } else if constexpr (is_complex_v<A>) {
    constexpr int kParts = 16;
    A part[kParts];
    int parts = static_cast<int>(std::min<int64_t>(n, kParts));
    for (int k = 0; k < parts; ++k) part[k] = map(x[k]);
    int64_t i = kParts;
    for (; i + kParts <= n; i += kParts) {
      for (int k = 0; k < kParts; ++k) part[k] = join(part[k], map(x[i + k]));
    }
    for (int k = 0; i < n; ++i, ++k) part[k] = join(part[k], map(x[i]));
    for (; parts > 1; parts = (parts + 1) / 2) {
      for (int k = 0; k < parts / 2; ++k) part[k] = join(part[k], part[k + (parts + 1) / 2]);
    }
    return part[0];
  } else if constexpr (std::is_same_v<A, bool>) {
    // As bytes: the compiler makes no vectors of truth values.
    const uint8_t* byte = reinterpret_cast<const uint8_t*>(x);
    uint8_t result = byte[0];
    for (int64_t i = 1; i < n; ++i) result = static_cast<uint8_t>(join(result, byte[i]));
    return result != 0;
  } else {
    A result = map(x[0]);
    for (int64_t i = 1; i < n; ++i) result = join(result, map(x[i]));
    return result;
  }
}

/// The same for a run of any length, as a balanced tree of short runs.
template <class A, class Map, class Join>
inline A fold_long(const A* x, int64_t n, Map map, Join join) {
  if (n <= kRun) return fold_run(x, n, map, join);
  int64_t half = half_of(n, kRun);
  return join(fold_long(x, half, map, join), fold_long(x + half, n - half, map, join));
}

inline constexpr auto kIdentityMap = [](auto x) { return x; };
inline constexpr auto kAdd = [](auto a, auto b) { return a + b; };
// Written so that a NaN on either side wins; `|` because vectors have no `||`.
inline constexpr auto kGreater = [](auto a, auto b) { return ((a > b) | (a != a)) ? a : b; };
inline constexpr auto kLess = [](auto a, auto b) { return ((a < b) | (a != a)) ? a : b; };

/// The Op for ReducerOf. Map and Join are as for fold_run; Finish maps a joined value to the result.
template <class A, class Map, class Join, class Finish>
struct Monoid {
  using Element = A;
  using State = A;
  static constexpr bool kOrdered = false;

  Reader<A> reader;
  Writer<A> writer;
  char* out;
  int64_t out_itemsize;
  A identity_value;
  Map map;
  Join combine;
  Finish finish;

  A row(const A* x, int64_t n, int64_t) const { return fold_run(x, n, map, combine); }

  void panel(const A* x, int64_t step, int64_t n, int64_t lanes, int64_t, A* states) const {
    int64_t k = n % 4;
    if (k == 0) {
      k = 4;
      add_rows<true>(x, step, lanes, states);
    } else {
      for (int64_t w = 0; w < lanes; ++w) states[w] = map(x[w]);
      for (int64_t r = 1; r < k; ++r) {
        const A* y = x + r * step;
        for (int64_t w = 0; w < lanes; ++w) states[w] = combine(states[w], map(y[w]));
      }
    }
    for (; k < n; k += 4) add_rows<false>(x + k * step, step, lanes, states);
  }

  void join(A& left, const A& right) const { left = combine(left, right); }
  A identity() const { return identity_value; }

  void emit(const A* states, const Target& target) const {
    A results[kMaxLanes];
    for (int64_t w = 0; w < target.lanes; ++w) results[w] = finish(states[w]);
    writer.store(results, target.lanes, out + target.offset[0] * out_itemsize, target.step[0]);
  }

 private:
  /// Four rows at a time, for a quarter of the traffic on `states`.
  template <bool kFirst>
  void add_rows(const A* x, int64_t step, int64_t lanes, A* __restrict states) const {
    const A* x1 = x + step;
    const A* x2 = x1 + step;
    const A* x3 = x2 + step;
    for (int64_t w = 0; w < lanes; ++w) {
      A sum = combine(combine(map(x[w]), map(x1[w])), combine(map(x2[w]), map(x3[w])));
      states[w] = kFirst ? sum : combine(states[w], sum);
    }
  }
};

template <class A, class Map, class Join, class Finish>
void run_monoid(const View& in, const View& out, Reader<A> reader, A identity, Map map, Join join, Finish finish) {
  using Op = Monoid<A, Map, Join, Finish>;
  Op op{reader, Writer<A>(out.dtype), out.data, itemsize(out.dtype), identity, map, join, finish};
  run_reduction(ReducerOf<Op>(op, in.dtype), in, out, out);
}

}  // namespace adjoint::cpu
