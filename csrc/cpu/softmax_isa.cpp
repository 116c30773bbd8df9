#include "cpu/softmax_isa.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "cpu/float_exp.h"
#include "cpu/vector_math.h"

ADJOINT_VECTOR_UNARY(exp)

namespace adjoint::cpu {
namespace {

/// Elements per step of the exponential loops: the widest vector, so that no element takes the scalar function, whose
/// last bit may differ.
constexpr int kStep = 16;

/// The shift of element i: one for all, or one for each.
template <class A>
inline A shift_of(A shift, int64_t) {
  return shift;
}
template <class A>
inline A shift_of(const A* shift, int64_t i) {
  return shift[i];
}

/// Exponentials of less are subnormal numbers, where vector functions are slow, and of less than the second are 0.
template <class A>
constexpr A kLeastNormal = std::is_same_v<A, float> ? A(-87.33) : A(-708.39);
template <class A>
constexpr A kLeastExponent = std::is_same_v<A, float> ? A(-103.98) : A(-745.14);

/// y[i] = exp(x[i] - shift) for n a multiple of kStep; y may be x.
template <class A, class Shift>
inline void exp_steps(const A* x, Shift shift, A* y, int64_t n) {
#ifdef ADJOINT_OWN_EXP
  if constexpr (std::is_same_v<A, float>) {
    ADJOINT_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) y[i] = fn::own_exp(x[i] - shift_of<A>(shift, i));
    return;
  }
#endif
  for (int64_t i = 0; i < n; i += kStep) {
    A block[kStep], exponent[kStep];
    for (int k = 0; k < kStep; ++k) exponent[k] = x[i + k] - shift_of<A>(shift, i + k);
    // A subnormal power is the square of that of half the exponent. Masks are made of -inf: cut off, its square is 0.
    for (int k = 0; k < kStep; ++k) block[k] = exponent[k] < kLeastExponent<A> ? kLeastExponent<A> : exponent[k];
    for (int k = 0; k < kStep; ++k) block[k] = exponent[k] < kLeastNormal<A> ? block[k] / 2 : block[k];
    // A loop of its own, or the compiler would give up the vector function for a branch.
    for (int k = 0; k < kStep; ++k) block[k] = std::exp(block[k]);
    for (int k = 0; k < kStep; ++k) y[i + k] = exponent[k] < kLeastNormal<A> ? block[k] * block[k] : block[k];
  }
}

/// The tail goes through a padded block.
template <class A, class Shift>
void exp_shifted(const A* x, Shift shift, A* y, int64_t n) {
  const int64_t whole = n / kStep * kStep;
  exp_steps(x, shift, y, whole);
  if (whole == n) return;
  A tail[kStep] = {};
  for (int64_t i = whole; i < n; ++i) tail[i - whole] = x[i] - shift_of<A>(shift, i);
  exp_steps(tail, A(0), tail, kStep);
  for (int64_t i = whole; i < n; ++i) y[i] = tail[i - whole];
}

template <class A>
void subtract_exps(const A* x, const A* exponent, A factor, A* y, int64_t n) {
  const int64_t whole = n / kStep * kStep;
  A power[kStep];
  for (int64_t i = 0; i < whole; i += kStep) {
    exp_steps(exponent + i, A(0), power, kStep);
    for (int k = 0; k < kStep; ++k) y[i + k] = x[i + k] - power[k] * factor;
  }
  exp_shifted(exponent + whole, A(0), power, n - whole);
  for (int64_t i = whole; i < n; ++i) y[i] = x[i] - power[i - whole] * factor;
}

template <class A, class Shift>
void subtract(const A* x, Shift first, Shift second, A* y, int64_t n) {
  ADJOINT_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] - shift_of<A>(first, i) - shift_of<A>(second, i);
}

template <class A>
void accumulate(const A* x, double* total, int64_t n) {
  for (int64_t i = 0; i < n; ++i) total[i] += x[i];
}

// ---- Short rows, packed and of the type computed in: a block of whole steps each, and no calls

/// One step in a vector, and the integers that number its lanes.
template <class A>
struct Step {
  typedef A type __attribute__((vector_size(kStep * sizeof(A))));
  using Lane = std::conditional_t<sizeof(A) == 4, int32_t, int64_t>;
  typedef Lane Lanes __attribute__((vector_size(kStep * sizeof(A))));
};

/// Joins the lanes of a step by f(into, other): each with the one `apart` lanes away, then in pairs of pairs.
template <class A, class F>
[[gnu::always_inline]] inline A joined(typename Step<A>::type& v, F f) {
  typename Step<A>::Lanes lanes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
#pragma GCC unroll 4
  for (int apart = kStep / 2; apart > 0; apart /= 2) {
    typename Step<A>::type other;
    shuffle(v, lanes ^ apart, other);
    f(v, other);
  }
  return v[0];
}

/// The first n of a row in whole steps; the rest is as before.
template <class A>
[[gnu::always_inline]] inline void take_row(const A* row, int64_t n, A* block) {
  int64_t i = 0;
  for (; i + kStep <= n; i += kStep) std::memcpy(block + i, row + i, kStep * sizeof(A));
  for (; i < n; ++i) block[i] = row[i];
}

template <class A>
[[gnu::always_inline]] inline A sum_of(const A* block, int64_t steps) {
  using V = typename Step<A>::type;
  V total = {};
  for (int64_t i = 0; i < steps; i += kStep) {
    V step;
    std::memcpy(&step, block + i, sizeof step);
    total += step;
  }
  return joined<A>(total, [](V& a, const V& b) { a += b; });
}

template <class A>
[[gnu::always_inline]] inline A greatest_of(const A* block, int64_t steps) {
  using V = typename Step<A>::type;
  auto raise = [](V& a, const V& b) { a = a > b ? a : b; };
  V high;
  std::memcpy(&high, block, sizeof high);
  for (int64_t i = kStep; i < steps; i += kStep) {
    V step;
    std::memcpy(&step, block + i, sizeof step);
    raise(high, step);
  }
  return joined<A>(high, raise);
}

template <class A>
void short_forward(const A* x, A* y, int64_t rows, int64_t n, bool log) {
  const int64_t steps = (n + kStep - 1) / kStep * kStep;
  A block[kShortSoftmax], powers[kShortSoftmax];
  for (A& element : block) element = -std::numeric_limits<A>::infinity();
  for (int64_t row = 0; row < rows; ++row, x += n, y += n) {
    take_row(x, n, block);
    const A high = greatest_of(block, steps);  // a NaN may lose here, but not in the sum
    exp_steps(block, high, powers, steps);
    const A total = sum_of(powers, steps);
    if (log) {
      const A log_total = std::log(total);
      for (int64_t i = 0; i < n; ++i) y[i] = block[i] - high - log_total;
    } else {
      const A scale = 1 / total;
      for (int64_t i = 0; i < n; ++i) y[i] = powers[i] * scale;
    }
  }
}

template <class A>
void short_backward(const A* g, const A* result, A* y, int64_t rows, int64_t n, bool log) {
  const int64_t steps = (n + kStep - 1) / kStep * kStep;
  A block[kShortSoftmax] = {}, other[kShortSoftmax] = {};
  for (int64_t row = 0; row < rows; ++row, g += n, result += n, y += n) {
    take_row(g, n, block);
    take_row(result, n, other);
    if (log) {
      const A total = sum_of(block, steps);
      exp_steps(other, A(0), other, steps);
      for (int64_t i = 0; i < n; ++i) y[i] = block[i] - other[i] * total;
    } else {
      A products[kShortSoftmax];
      for (int64_t i = 0; i < steps; ++i) products[i] = block[i] * other[i];
      const A total = sum_of(products, steps);
      for (int64_t i = 0; i < n; ++i) y[i] = other[i] * (block[i] - total);
    }
  }
}

template <class A>
constexpr SoftmaxLoops<A> kLoops = {.exp_shifted = exp_shifted<A, A>,
                                    .exp_shifted_each = exp_shifted<A, const A*>,
                                    .subtract_exps = subtract_exps<A>,
                                    .subtract = subtract<A, A>,
                                    .subtract_each = subtract<A, const A*>,
                                    .accumulate = accumulate<A>,
                                    .short_forward = short_forward<A>,
                                    .short_backward = short_backward<A>};

}  // namespace

template <class A>
template <Isa>
SoftmaxLoops<A> SoftmaxLoops<A>::compiled() {
  return kLoops<A>;
}
template SoftmaxLoops<float> SoftmaxLoops<float>::compiled<kIsa>();
template SoftmaxLoops<double> SoftmaxLoops<double>::compiled<kIsa>();

}  // namespace adjoint::cpu
