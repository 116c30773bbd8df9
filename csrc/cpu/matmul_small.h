// Products too small for BLAS: where its call and its packing would cost more than the arithmetic.
#pragma once

#include <cstdint>

#include "cpu/isa.h"

namespace adjoint::cpu {

template <class T>
struct Matrix {
  T* data;
  int64_t row;  ///< elements from one row to the next
  int64_t col;  ///< elements from one column to the next

  [[gnu::always_inline]] T* at(int64_t r, int64_t c) const { return data + r * row + c * col; }
};

/// c = alpha * (a @ b) + beta * c, with a: m x k, b: k x n, c: m x n. When beta is 0, c is not read.
template <class T>
struct Product {
  int64_t m, n, k;
  Matrix<const T> a, b;
  Matrix<T> c;
  T alpha, beta;
};

/// Whether the loops pack b: where it lies by columns, or, for many rows of a, where its own rows lie so far apart that
/// they share few places of the first-level cache.
template <class T>
[[gnu::always_inline]] inline bool packs(const Product<T>& p) {
  return p.b.col != 1 || (p.m >= 128 && p.b.row * static_cast<int64_t>(sizeof(T)) >= 4096);
}

/// The longest k that one pass of the loops takes; longer sums are cut.
inline constexpr int64_t kSmallDepth = 256;

/// Of float or double. See Note [Instruction sets] in cpu/isa.h.
template <class T>
struct ProductLoops {
  void (*panels)(const Product<T>& product);  ///< k <= kSmallDepth
  T (*dot)(const T* a, const T* b, int64_t n);

  template <Isa>
  static ProductLoops compiled();
};

/// Of int64_t and int32_t.
template <class T>
struct IntegerLoops {
  /// out[j] += x * in[j]; what overflows wraps.
  void (*add_multiple)(T* out, T x, const T* in, int64_t n);

  template <Isa>
  static IntegerLoops compiled();
};

/// Any strides for a and b; c must be packed along its rows (c.col == 1 or n == 1). T is float or double.
template <class T>
void small_gemm(const Product<T>& product);

/// One row times one column (m == n == 1), over several threads. The order of the sums does not depend on the threads.
template <class T>
void long_dot(const Product<T>& product);

}  // namespace adjoint::cpu
