// Cholesky, LU, LDL and QR factorisations.
#include <cmath>
#include <numeric>

#include "cpu/linalg.h"
#include "cpu/linalg_batch.h"
#include "cpu/linalg_blocked.h"
#include "cpu/linalg_small.h"

namespace adjoint::cpu {
namespace {

/// potrf's info, where not every LAPACK sees that a matrix with nan has no factor.
template <class T>
int32_t checked_info(Int info, const T* factor, int64_t n, int64_t ld) {
  for (int64_t i = 0; info == 0 && i < n; ++i)
    if (std::isnan(std::real(factor[i * (ld + 1)]))) info = i + 1;
  return static_cast<int32_t>(info);
}

/// Writes zeros below (or above) the diagonal of a column-major matrix.
template <class T>
void clear_triangle(T* a, int64_t rows, int64_t cols, int64_t ld, bool below) {
  for (int64_t j = 0; j < cols; ++j) {
    int64_t from = below ? std::min(j + 1, rows) : 0, to = below ? rows : std::min(j, rows);
    std::fill(a + j * ld + from, a + j * ld + std::max(from, to), T(0));
  }
}

}  // namespace

// ---- Cholesky

void cholesky(const View& a, const View& infos, bool upper) {
  const int64_t n = rows_of(a);
  with_lapack_type(a.dtype, [&](auto tag) {
    using T = decltype(tag);
    auto& lapack = lapack::routines<T>();
    Columns factors = Columns::of(a);
    const bool blocked = !upper && worth_blocks(n);
    const int64_t scratch = blocked ? n * kFactorBlock * static_cast<int64_t>(sizeof(T)) : 0;
    auto factor_one = [&](int64_t i, char* memory) {
      T* matrix = factors.at<T>(i);
      Int failed = 0;
      const bool small = kHasSmall<T> && n <= kSmall && !upper;
      if constexpr (kHasSmall<T>) {
        if (small) failed = factor_cholesky_small(n, matrix, factors.ld());
      }
      if (blocked) {
        failed = factor_cholesky_blocked(n, matrix, factors.ld(), reinterpret_cast<T*>(memory));
      } else if (!small && n) {
        failed = lapack.potrf(kColumnMajor, upper ? 'U' : 'L', n, matrix, factors.ld());
      }
      infos.as<int32_t>()[i] = checked_info(failed, matrix, n, factors.ld());
      clear_triangle(matrix, n, n, factors.ld(), upper);
    };
    for_each_matrix(batch_of(a), cubed(n) / 3, scratch, factor_one, blocked);
  });
}

// ---- LU

void lu_factor(const View& a, const View& pivots, const View& infos) {
  const int64_t m = rows_of(a), n = cols_of(a), k = std::min(m, n);
  with_lapack_type(a.dtype, [&](auto tag) {
    using T = decltype(tag);
    Columns factors = Columns::of(a);
    const bool blocked = worth_blocks(k);
    auto factor_one = [&](int64_t i, char* memory) {
      Int* wide = Scratch(memory).take<Int>(k);
      T* matrix = factors.at<T>(i);
      const Int failed = blocked ? factor_lu_blocked(m, n, matrix, factors.ld(), wide)
                                 : factor_lu_matrix(m, n, matrix, factors.ld(), wide);
      infos.as<int32_t>()[i] = static_cast<int32_t>(failed);
      std::copy(wide, wide + k, pivots.as<int32_t>() + i * k);
    };
    const double flops =
        2.0 / 3 * static_cast<double>(k) * static_cast<double>(k) * static_cast<double>(std::max(m, n));
    for_each_matrix(batch_of(a), flops, k * 8, factor_one, blocked);
  });
}

void permutation(const View& pivots, const View& out) {
  const int64_t k = pivots.sizes[pivots.ndim - 1], m = rows_of(out), count = batch_of(out);
  dispatch(out.dtype, [&](auto tag) {
    using T = decltype(tag);
    std::vector<int64_t> order(m);
    for (int64_t i = 0; i < count; ++i) {
      const int32_t* swaps = pivots.as<int32_t>() + i * k;
      std::iota(order.begin(), order.end(), int64_t{0});
      for (int64_t j = 0; j < k; ++j) std::swap(order[j], order[swaps[j] - 1]);
      T* p = out.as<T>() + i * m * m;
      std::fill(p, p + m * m, convert<T>(0.0));
      for (int64_t j = 0; j < m; ++j) p[order[j] * m + j] = convert<T>(1.0);
    }
  });
}

namespace {

/// One triangle of each matrix, with its diagonal or with ones there, and zeros in the other one; `out` is written line
/// by line, whichever way it lies.
void copy_triangle(const View& in, const View& out, bool upper) {
  const bool by_columns = out.strides[out.ndim - 1] != 1;
  const int line = out.ndim - (by_columns ? 1 : 2), along = out.ndim - (by_columns ? 2 : 1);
  const int64_t lines = out.sizes[line], length = out.sizes[along], step = in.strides[along];
  const bool first = upper == by_columns;  // whether a line begins with what is kept
  with_lapack_type(in.dtype, [&](auto tag) {
    using T = decltype(tag);
    Columns sources = Columns::of(in);
    for_each_matrix(batch_of(out), static_cast<double>(length * lines), 0, [&](int64_t b, char*) {
      const T* source = sources.at<T>(b);
      T* target = out.as<T>() + b * lines * length;
      for (int64_t i = 0; i < lines; ++i, source += in.strides[line], target += length) {
        const int64_t cut = i + by_columns;
        for (int64_t j = 0; j < length; ++j) target[j] = (j < cut) == first ? source[j * step] : T(0);
        if (!upper && i < length) target[i] = T(1);
      }
    });
  });
}

}  // namespace

void upper_triangle(const View& in, const View& out) { copy_triangle(in, out, true); }
void unit_lower_triangle(const View& in, const View& out) { copy_triangle(in, out, false); }

// ---- LDL

void ldl_factor(const View& a, const View& pivots, const View& infos, bool hermitian) {
  const int64_t n = rows_of(a);
  with_lapack_type(a.dtype, [&](auto tag) {
    using T = decltype(tag);
    auto& lapack = lapack::routines<T>();
    auto factorize = is_complex_v<T> && hermitian ? lapack.hetrf : lapack.sytrf;
    Columns factors = Columns::of(a);
    T answer(1);
    if (n) factorize(kColumnMajor, 'L', n, a.as<T>(), factors.ld(), nullptr, &answer, -1);
    const Int lwork = work_size(answer);
    Scratch measure(nullptr);
    measure.take<Int>(n);
    measure.take<T>(lwork);
    for_each_matrix(batch_of(a), cubed(n) / 3, measure.used(), [&](int64_t i, char* memory) {
      Scratch scratch(memory);
      Int* wide = scratch.take<Int>(n);
      T* work = scratch.take<T>(lwork);
      T* matrix = factors.at<T>(i);
      const Int failed = n ? factorize(kColumnMajor, 'L', n, matrix, factors.ld(), wide, work, lwork) : 0;
      infos.as<int32_t>()[i] = static_cast<int32_t>(failed);
      std::copy(wide, wide + n, pivots.as<int32_t>() + i * n);
      clear_triangle(matrix, n, n, factors.ld(), false);
    });
  });
}

// ---- QR

void geqrf(const View& a, const View& tau) {
  const int64_t m = rows_of(a), n = cols_of(a), k = std::min(m, n);
  if (k == 0) return;
  with_lapack_type(a.dtype, [&](auto tag) {
    using T = decltype(tag);
    auto& lapack = lapack::routines<T>();
    Columns matrices = Columns::of(a);
    T answer(1);
    lapack.geqrf(kColumnMajor, m, n, a.as<T>(), matrices.ld(), nullptr, &answer, -1);
    const Int lwork = work_size(answer);
    for_each_matrix(batch_of(a), 2.0 * static_cast<double>(m * n) * static_cast<double>(k),
                    lwork * static_cast<int64_t>(sizeof(T)), [&](int64_t i, char* memory) {
                      lapack.geqrf(kColumnMajor, m, n, matrices.at<T>(i), matrices.ld(), tau.as<T>() + i * k,
                                   Scratch(memory).take<T>(lwork), lwork);
                    });
  });
}

void orgqr(const View& a, const View& tau) {
  const int64_t m = rows_of(a), n = cols_of(a), k = tau.sizes[tau.ndim - 1];
  if (m == 0 || n == 0) return;
  with_lapack_type(a.dtype, [&](auto tag) {
    using T = decltype(tag);
    auto& lapack = lapack::routines<T>();
    Columns matrices = Columns::of(a), factors = Columns::vectors(tau);
    T answer(1);
    lapack.orgqr(kColumnMajor, m, n, k, a.as<T>(), matrices.ld(), nullptr, &answer, -1);
    const Int lwork = work_size(answer);
    for_each_matrix(batch_of(a), 2.0 * static_cast<double>(m * n) * static_cast<double>(k),
                    lwork * static_cast<int64_t>(sizeof(T)), [&](int64_t i, char* memory) {
                      lapack.orgqr(kColumnMajor, m, n, k, matrices.at<T>(i), matrices.ld(), factors.at<T>(i),
                                   Scratch(memory).take<T>(lwork), lwork);
                    });
  });
}

void ormqr(const View& a, const View& tau, const View& c, bool left, bool transpose) {
  const int64_t m = rows_of(c), n = cols_of(c), k = tau.sizes[tau.ndim - 1];
  if (m == 0 || n == 0 || k == 0) return;
  with_lapack_type(a.dtype, [&](auto tag) {
    using T = decltype(tag);
    auto& lapack = lapack::routines<T>();
    Columns reflectors = Columns::readable(a), factors = Columns::vectors(tau), targets = Columns::of(c);
    const char from = left ? 'L' : 'R', trans = !transpose ? 'N' : is_complex_v<T> ? 'C' : 'T';
    T answer(1);
    lapack.ormqr(kColumnMajor, from, trans, m, n, k, nullptr, reflectors.ld(), nullptr, nullptr, targets.ld(), &answer,
                 -1);
    const Int lwork = work_size(answer);
    for_each_matrix(batch_of(c), 4.0 * static_cast<double>(m * n) * static_cast<double>(k),
                    lwork * static_cast<int64_t>(sizeof(T)), [&](int64_t i, char* memory) {
                      lapack.ormqr(kColumnMajor, from, trans, m, n, k, reflectors.at<T>(i), reflectors.ld(),
                                   factors.at<T>(i), targets.at<T>(i), targets.ld(), Scratch(memory).take<T>(lwork),
                                   lwork);
                    });
  });
}

// ---- Answers

LinalgFailure first_failure(const View& infos) {
  const int32_t *codes = infos.as<int32_t>(), *end = codes + infos.numel();
  const int32_t* found = std::find_if(codes, end, [](int32_t code) { return code != 0; });
  return found == end ? LinalgFailure() : LinalgFailure{found - codes, *found};
}

PivotFault lu_pivot_fault(const View& pivots, int64_t rows) {
  const int32_t* all = pivots.as<int32_t>();
  for (int64_t i = 0; i < pivots.numel(); ++i) {
    if (all[i] < 1) return PivotFault::TooSmall;
    if (all[i] > rows) return PivotFault::TooLarge;
  }
  return PivotFault::None;
}

PivotFault ldl_pivot_fault(const View& pivots, int64_t rows) {
  const int32_t* all = pivots.as<int32_t>();
  const int64_t count = pivots.numel();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t pivot = std::abs(static_cast<int64_t>(all[i]));
    if (pivot < 1) return PivotFault::TooSmall;
    if (pivot > rows) return PivotFault::TooLarge;
  }
  // A block of two rows has two negative ones.
  for (int64_t start = 0; start < count; start += rows)
    for (int64_t k = 0; k < rows; k += all[start + k] < 0 ? 2 : 1)
      if (all[start + k] < 0 && (k + 1 == rows || all[start + k + 1] > 0)) return PivotFault::Unpaired;
  return PivotFault::None;
}

}  // namespace adjoint::cpu
