// Factors and solutions of matrices so small that a call of LAPACK costs more than the arithmetic. Real types only:
// complex products need care with inf that costs as much.
#pragma once

#include <algorithm>
#include <cmath>

#include "cpu/linalg_batch.h"

namespace adjoint::cpu {

template <class T>
inline constexpr bool kHasSmall = !is_complex_v<T>;

/// Up to this many rows and columns.
inline constexpr Int kSmall = 16;

/// As LAPACK's getrf.
template <class T>
Int factor_lu_small(Int m, Int n, T* a, Int lda, Int* pivots) {
  Int info = 0;
  for (Int k = 0; k < std::min(m, n); ++k) {
    T* column = a + k * lda;
    Int best = k;
    for (Int i = k + 1; i < m; ++i)
      if (std::abs(column[i]) > std::abs(column[best])) best = i;
    pivots[k] = best + 1;
    if (column[best] == T(0)) {
      if (info == 0) info = k + 1;
      continue;
    }
    if (best != k)
      for (Int j = 0; j < n; ++j) std::swap(a[j * lda + k], a[j * lda + best]);
    for (Int i = k + 1; i < m; ++i) column[i] /= column[k];
    for (Int j = k + 1; j < n; ++j) {
      T factor = a[j * lda + k];
      for (Int i = k + 1; i < m; ++i) a[j * lda + i] -= column[i] * factor;
    }
  }
  return info;
}

/// Solves for `Width` columns of b side by side, so that each step is one vector operation.
template <int Width, class T>
void solve_lu_columns(bool transposed, Int n, const T* a, Int lda, const T* reciprocals, const Int* pivots, T* b,
                      Int ldb) {
  T x[kSmall][Width];
  auto subtract = [&](Int from, T factor, Int to) {
    for (int c = 0; c < Width; ++c) x[to][c] -= factor * x[from][c];
  };
  auto scale = [&](Int row) {
    for (int c = 0; c < Width; ++c) x[row][c] *= reciprocals[row];
  };
  for (Int i = 0; i < n; ++i)
    for (int c = 0; c < Width; ++c) x[i][c] = b[c * ldb + i];
  if (!transposed) {
    for (Int k = 0; k < n; ++k)
      if (pivots[k] - 1 != k) std::swap(x[k], x[pivots[k] - 1]);
    for (Int k = 0; k < n; ++k)
      for (Int i = k + 1; i < n; ++i) subtract(k, a[k * lda + i], i);
    for (Int k = n; k-- > 0;) {
      scale(k);
      for (Int i = 0; i < k; ++i) subtract(k, a[k * lda + i], i);
    }
  } else {
    for (Int k = 0; k < n; ++k) {
      for (Int i = 0; i < k; ++i) subtract(i, a[k * lda + i], k);
      scale(k);
    }
    for (Int k = n; k-- > 0;)
      for (Int i = k + 1; i < n; ++i) subtract(i, a[k * lda + i], k);
    for (Int k = n; k-- > 0;)
      if (pivots[k] - 1 != k) std::swap(x[k], x[pivots[k] - 1]);
  }
  for (Int i = 0; i < n; ++i)
    for (int c = 0; c < Width; ++c) b[c * ldb + i] = x[i][c];
}

/// As LAPACK's getrs: b = A^-1 b, or A^-T b.
template <class T>
void solve_lu_small(bool transposed, Int n, Int count, const T* a, Int lda, const Int* pivots, T* b, Int ldb) {
  T reciprocals[kSmall];
  for (Int k = 0; k < n; ++k) reciprocals[k] = T(1) / a[k * lda + k];
  Int c = 0;
  for (; c + 4 <= count; c += 4) solve_lu_columns<4>(transposed, n, a, lda, reciprocals, pivots, b + c * ldb, ldb);
  for (; c < count; ++c) solve_lu_columns<1>(transposed, n, a, lda, reciprocals, pivots, b + c * ldb, ldb);
}

/// getrf of a matrix of any size, by whatever is fastest on one thread.
template <class T>
Int factor_lu_matrix(Int m, Int n, T* a, Int lda, Int* pivots) {
  if constexpr (kHasSmall<T>) {
    if (m <= kSmall && n <= kSmall) return factor_lu_small(m, n, a, lda, pivots);
  }
  return std::min(m, n) ? lapack::routines<T>().getrf(kColumnMajor, m, n, a, lda, pivots) : 0;
}

/// getrs likewise; `trans` is 'N', 'T' or 'C'.
template <class T>
void solve_lu_matrix(char trans, Int n, Int count, const T* a, Int lda, const Int* pivots, T* b, Int ldb) {
  if constexpr (kHasSmall<T>) {
    if (n <= kSmall && count <= 2 * kSmall) return solve_lu_small(trans != 'N', n, count, a, lda, pivots, b, ldb);
  }
  lapack::routines<T>().getrs(kColumnMajor, trans, n, count, a, lda, pivots, b, ldb);
}

/// As LAPACK's potrf for the lower triangle.
template <class T>
Int factor_cholesky_small(Int n, T* a, Int lda) {
  for (Int j = 0; j < n; ++j) {
    T* column = a + j * lda;
    for (Int k = 0; k < j; ++k) {
      T factor = a[k * lda + j];
      for (Int i = j; i < n; ++i) column[i] -= a[k * lda + i] * factor;
    }
    if (!(column[j] > T(0))) return j + 1;
    T root = std::sqrt(column[j]);
    column[j] = root;
    for (Int i = j + 1; i < n; ++i) column[i] /= root;
  }
  return 0;
}

}  // namespace adjoint::cpu
