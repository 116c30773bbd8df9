#include "cpu/linalg_blocked.h"

#include "cpu/matmul.h"

namespace adjoint::cpu {
namespace {

/// c -= a b, for blocks of column-major matrices: c is m by n, a m by k; b is k by n, or n by k and transposed.
template <class T>
void subtract_product(Int m, Int n, Int k, const T* a, Int lda, const T* b, Int ldb, bool transposed, T* c, Int ldc) {
  const int64_t a_sizes[2] = {m, k}, a_strides[2] = {1, lda}, b_sizes[2] = {k, n};
  const int64_t b_strides[2] = {transposed ? ldb : 1, transposed ? 1 : ldb}, c_sizes[2] = {m, n},
                c_strides[2] = {1, ldc};
  auto view = [](const T* data, const int64_t* sizes, const int64_t* strides) {
    return View{reinterpret_cast<char*>(const_cast<T*>(data)), DTypeOf<T>::value, 2, sizes, strides};
  };
  gemm(view(a, a_sizes, a_strides), view(b, b_sizes, b_strides), view(c, c_sizes, c_strides), Scalar::of(int64_t{-1}),
       Scalar::of(int64_t{1}));
}

/// b = op(a)^-1 b or b op(a)^-1 on all threads; `count` columns (rows, from the right) of b, in pieces that do not
/// depend on the number of threads: the library rounds the columns of another piece in another way.
template <class T>
void solve_triangle(int side, int uplo, int trans, int diag, Int n, Int count, const T* a, Int lda, T* b, Int ldb) {
  auto& lapack = lapack::routines<T>();
  T one(1);
  typename lapack::Routines<T>::Factor alpha;
  if constexpr (is_complex_v<T>) {
    alpha = &one;
  } else {
    alpha = one;
  }
  bool left = side == lapack::kLeft;
  const Int pieces = std::clamp<Int>(count / kFactorBlock, 1, 8);
  parallel_for(pieces, 1, [&](int64_t first, int64_t last) {
    for (int64_t piece = first; piece < last; ++piece) {
      const Int from = count * piece / pieces, to = count * (piece + 1) / pieces;
      lapack.trsm(kColumnMajor, side, uplo, trans, diag, left ? n : to - from, left ? to - from : n, alpha, a, lda,
                  left ? b + from * ldb : b + from, ldb);
    }
  });
}

/// Applies the row swaps `from` to `to` to columns.
template <class T>
void swap_rows(T* a, Int lda, Int columns, const Int* pivots, Int from, Int to) {
  parallel_for(columns, std::max<Int>(1, 4096 / (to - from)), [&](int64_t first, int64_t last) {
    for (int64_t j = first; j < last; ++j)
      for (Int i = from; i < to; ++i) std::swap(a[j * lda + i], a[j * lda + pivots[i] - 1]);
  });
}

}  // namespace

template <class T>
Int factor_lu_blocked(Int m, Int n, T* a, Int lda, Int* pivots) {
  auto& lapack = lapack::routines<T>();
  Int info = 0;
  for (Int k = 0; k < std::min(m, n); k += kFactorBlock) {
    Int width = std::min({kFactorBlock, m - k, n - k});
    T* corner = a + k * lda + k;
    Int failed = lapack.getrf(kColumnMajor, m - k, width, corner, lda, pivots + k);
    if (info == 0 && failed > 0) info = failed + k;
    for (Int i = k; i < k + width; ++i) pivots[i] += k;
    swap_rows(a, lda, k, pivots, k, k + width);
    Int right = n - k - width, below = m - k - width;
    if (right == 0) continue;
    T* beside = a + (k + width) * lda;
    swap_rows(beside, lda, right, pivots, k, k + width);
    solve_triangle(lapack::kLeft, lapack::kLower, blas::kNoTrans, lapack::kUnit, width, right, corner, lda, beside + k,
                   lda);
    if (below)
      subtract_product(below, right, width, corner + width, lda, beside + k, lda, false, beside + k + width, lda);
  }
  return info;
}

template <class T>
Int factor_cholesky_blocked(Int n, T* a, Int lda, T* work) {
  constexpr int kConjTrans = 113;
  auto& lapack = lapack::routines<T>();
  T* conjugated = work;
  for (Int k = 0; k < n; k += kFactorBlock) {
    Int width = std::min(kFactorBlock, n - k), below = n - k - width;
    T* corner = a + k * lda + k;
    Int failed = lapack.potrf(kColumnMajor, 'L', width, corner, lda);
    if (failed > 0) return failed + k;
    if (below == 0) continue;
    solve_triangle(lapack::kRight, lapack::kLower, kConjTrans, lapack::kNonUnit, width, below, corner, lda,
                   corner + width, lda);
    for (Int j = 0; j < width; ++j)
      std::transform(corner + j * lda + width, corner + j * lda + width + below, conjugated + j * below, [](T v) {
        if constexpr (is_complex_v<T>) {
          return std::conj(v);
        } else {
          return v;
        }
      });
    // The lower part of what is left, by strips of columns.
    for (Int j = 0; j < below; j += kFactorBlock) {
      Int columns = std::min(kFactorBlock, below - j);
      subtract_product(below - j, columns, width, corner + width + j, lda, conjugated + j, below, true,
                       corner + (width + j) * lda + width + j, lda);
    }
  }
  return 0;
}

#define ADJOINT_BLOCKED(type)                                       \
  template Int factor_lu_blocked<type>(Int, Int, type*, Int, Int*); \
  template Int factor_cholesky_blocked<type>(Int, type*, Int, type*);
ADJOINT_BLOCKED(float)
ADJOINT_BLOCKED(double)
ADJOINT_BLOCKED(complex64)
ADJOINT_BLOCKED(complex128)
#undef ADJOINT_BLOCKED

}  // namespace adjoint::cpu
