// Systems of linear equations, inverses and determinants.
#include <cmath>

#include "cpu/copy.h"
#include "cpu/linalg.h"
#include "cpu/linalg_batch.h"
#include "cpu/linalg_blocked.h"
#include "cpu/linalg_small.h"

namespace adjoint::cpu {
namespace {

template <class T>
void conjugate(T* values, int64_t n) {
  if constexpr (is_complex_v<T>) std::transform(values, values + n, values, [](T v) { return std::conj(v); });
}

/// The cost of the two triangles of one matrix.
double solve_flops(int64_t n, int64_t count) { return 2.0 * static_cast<double>(n) * static_cast<double>(n * count); }

}  // namespace

// ---- By LU factors

void lu_solve(const View& lu, const View& pivots, const View& x, bool left, bool adjoint) {
  const int64_t n = rows_of(x), count = cols_of(x);
  if (n == 0 || count == 0) return;
  with_lapack_type(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    Columns factors = Columns::readable(lu), swaps = Columns::vectors(pivots), sides = Columns::of(x);
    // From the right, the equation is transposed: A^T X^T = B^T.
    const char trans = left ? (adjoint ? 'C' : 'N') : (adjoint ? 'N' : 'T');
    const bool conjugated = !left && adjoint;
    for_each_column_range(
        batch_of(x), count, solve_flops(n, count), n * 8, [&](int64_t i, int64_t from, int64_t to, char* memory) {
          const int32_t* narrow = swaps.at<int32_t>(i);
          Int* wide = Scratch(memory).take<Int>(n);
          std::copy(narrow, narrow + n, wide);
          T* target = sides.at<T>(i) + from * sides.ld();
          if (conjugated) conjugate(target, n * (to - from));
          solve_lu_matrix(trans, n, to - from, factors.at<T>(i), factors.ld(), wide, target, sides.ld());
          if (conjugated) conjugate(target, n * (to - from));
        });
  });
}

namespace {

/// The inverse of one large matrix: its columns are independent, a third more arithmetic than with getri, but on all
/// threads.
template <class T>
void invert_large(const View& a, const View& out, const View& infos) {
  const int64_t n = rows_of(a);
  auto factors = std::make_unique_for_overwrite<T[]>(static_cast<size_t>(n * n));
  auto pivots = std::make_unique_for_overwrite<int32_t[]>(static_cast<size_t>(n));
  const int64_t sizes[2] = {n, n}, strides[2] = {1, n};
  const View lu{reinterpret_cast<char*>(factors.get()), a.dtype, 2, sizes, strides};
  const View swaps{reinterpret_cast<char*>(pivots.get()), DType::Int32, 1, sizes, strides};
  const View x{out.data, out.dtype, 2, sizes, strides};
  copy({a.data, a.dtype, 2, sizes, a.strides + a.ndim - 2}, lu);
  lu_factor(lu, swaps, infos);
  fill_identity(x.as<T>(), n, n, n);
  lu_solve(lu, swaps, x, true, false);
}

template <class T>
void invert_each(const View& a, const View& out, const View& infos) {
  const int64_t n = rows_of(a);
  copy(a, out);
  auto& lapack = lapack::routines<T>();
  Columns inverses = Columns::of(out);
  const Int ld = inverses.ld();
  T answer(1);
  if (n) lapack.getri(kColumnMajor, n, out.as<T>(), ld, nullptr, &answer, -1);
  const Int lwork = std::max<Int>(work_size(answer), n * std::min<int64_t>(n, kSmall));
  Scratch measure(nullptr);
  measure.take<Int>(n);
  measure.take<T>(lwork);
  const bool small = kHasSmall<T> && n <= kSmall;
  for_each_matrix(batch_of(a), 2 * cubed(n), measure.used(), [&](int64_t i, char* memory) {
    Scratch scratch(memory);
    Int* pivots = scratch.take<Int>(n);
    T* work = scratch.take<T>(lwork);
    T* matrix = inverses.at<T>(i);
    if (small) std::copy(matrix, matrix + n * n, work);
    Int failed = factor_lu_matrix(n, n, small ? work : matrix, ld, pivots);
    if (small && failed == 0) {
      fill_identity(matrix, n, n, ld);
      solve_lu_matrix('N', n, n, work, ld, pivots, matrix, ld);
    } else if (n && failed == 0) {
      failed = lapack.getri(kColumnMajor, n, matrix, ld, pivots, work, lwork);
    }
    infos.as<int32_t>()[i] = static_cast<int32_t>(failed);
  });
}

}  // namespace

void inverse(const View& a, const View& out, const View& infos) {
  with_lapack_type(a.dtype, [&](auto tag) {
    using T = decltype(tag);
    // The choice does not depend on the number of threads, and so neither do the bits of the result.
    const bool large = rows_of(a) >= 256 && batch_of(a) == 1;
    large ? invert_large<T>(a, out, infos) : invert_each<T>(a, out, infos);
  });
}

// ---- Determinants

namespace {

/// each(i, diagonal, n, step, number of swaps is odd) for the packed LU factors of a batch.
template <class T, class Each>
void for_each_diagonal(const View& lu, const View& pivots, const Each& each) {
  const int64_t n = rows_of(lu);
  Columns factors = Columns::of(lu);
  for (int64_t i = 0; i < batch_of(lu); ++i) {
    const int32_t* swaps = pivots.as<int32_t>() + i * n;
    bool odd = false;
    for (int64_t j = 0; j < n; ++j) odd ^= swaps[j] != j + 1;
    each(i, factors.at<T>(i), n, factors.ld() + 1, odd);
  }
}

}  // namespace

void det(const View& lu, const View& pivots, const View& out) {
  with_lapack_type(lu.dtype, [&](auto tag) {
    using T = decltype(tag);
    for_each_diagonal<T>(lu, pivots, [&](int64_t i, const T* diagonal, int64_t n, int64_t step, bool odd) {
      T value(odd ? -1 : 1);
      for (int64_t j = 0; j < n; ++j) value *= diagonal[j * step];
      out.as<T>()[i] = value;
    });
  });
}

void slogdet(const View& lu, const View& pivots, const View& signs, const View& logs) {
  with_lapack_type(lu.dtype, [&](auto tag) {
    using T = decltype(tag);
    using R = lapack::Real<T>;
    for_each_diagonal<T>(lu, pivots, [&](int64_t i, const T* diagonal, int64_t n, int64_t step, bool odd) {
      T sign(odd ? -1 : 1);
      R log(0);
      for (int64_t j = 0; j < n; ++j) {
        T value = diagonal[j * step];
        R size = std::abs(value);
        log += std::log(size);
        sign *= size == 0 ? value : value / size;
      }
      signs.as<T>()[i] = sign;
      logs.as<R>()[i] = log;
    });
  });
}

// ---- Triangular and symmetric matrices

namespace {

/// The transpose of each matrix, on the same memory.
View swapped(const View& view, std::vector<int64_t>& sizes, std::vector<int64_t>& strides) {
  sizes.assign(view.sizes, view.sizes + view.ndim);
  strides.assign(view.strides, view.strides + view.ndim);
  std::swap(sizes[view.ndim - 1], sizes[view.ndim - 2]);
  std::swap(strides[view.ndim - 1], strides[view.ndim - 2]);
  return {view.data, view.dtype, view.ndim, sizes.data(), strides.data()};
}

}  // namespace

void triangular_solve(const View& a, const View& x, bool upper, bool left, bool unit) {
  const int64_t n = rows_of(a), m = rows_of(x), count = cols_of(x);
  if (m == 0 || count == 0) return;
  with_lapack_type(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    auto& lapack = lapack::routines<T>();
    // Row by row is column by column of the transpose: the upper triangle becomes the lower one.
    const bool flipped = a.strides[a.ndim - 1] == 1 && a.strides[a.ndim - 2] >= n;
    std::vector<int64_t> sizes, strides;
    Columns factors = Columns::readable(flipped ? swapped(a, sizes, strides) : a), sides = Columns::of(x);
    const T one(1);
    typename lapack::Routines<T>::Factor alpha;
    if constexpr (is_complex_v<T>) {
      alpha = &one;
    } else {
      alpha = one;
    }
    // Columns of B are independent from the left, rows from the right.
    for_each_column_range(
        batch_of(x), left ? count : m, static_cast<double>(n) * static_cast<double>(m * count), 0,
        [&](int64_t i, int64_t from, int64_t to, char*) {
          lapack.trsm(kColumnMajor, left ? lapack::kLeft : lapack::kRight,
                      upper != flipped ? lapack::kUpper : lapack::kLower, flipped ? blas::kTrans : blas::kNoTrans,
                      unit ? lapack::kUnit : lapack::kNonUnit, left ? m : to - from, left ? to - from : count, alpha,
                      factors.at<T>(i), factors.ld(), sides.at<T>(i) + (left ? from * sides.ld() : from), sides.ld());
        });
  });
}

void cholesky_solve(const View& factor, const View& x, bool upper) {
  const int64_t n = rows_of(x), count = cols_of(x);
  if (n == 0 || count == 0) return;
  with_lapack_type(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    auto& lapack = lapack::routines<T>();
    Columns factors = Columns::readable(factor), sides = Columns::of(x);
    for_each_column_range(batch_of(x), count, solve_flops(n, count), 0,
                          [&](int64_t i, int64_t from, int64_t to, char*) {
                            lapack.potrs(kColumnMajor, upper ? 'U' : 'L', n, to - from, factors.at<T>(i), factors.ld(),
                                         sides.at<T>(i) + from * sides.ld(), sides.ld());
                          });
  });
}

void cholesky_inverse(const View& a, const View& infos, bool upper) {
  const int64_t n = rows_of(a);
  with_lapack_type(a.dtype, [&](auto tag) {
    using T = decltype(tag);
    auto& lapack = lapack::routines<T>();
    Columns inverses = Columns::of(a);
    for_each_matrix(batch_of(a), cubed(n), 0, [&](int64_t i, char*) {
      T* matrix = inverses.at<T>(i);
      const Int ld = inverses.ld();
      const Int failed = n ? lapack.potri(kColumnMajor, upper ? 'U' : 'L', n, matrix, ld) : 0;
      infos.as<int32_t>()[i] = static_cast<int32_t>(failed);
      for (int64_t j = 0; j < n; ++j) {
        if constexpr (is_complex_v<T>) matrix[j * ld + j] = matrix[j * ld + j].real();
        for (int64_t k = 0; k < j; ++k) {
          T &above = matrix[j * ld + k], &below = matrix[k * ld + j];
          T known = upper ? above : below;
          conjugate(&known, 1);
          (upper ? below : above) = known;
        }
      }
    });
  });
}

void ldl_solve(const View& factor, const View& pivots, const View& x, bool hermitian) {
  const int64_t n = rows_of(x), count = cols_of(x);
  if (n == 0 || count == 0) return;
  with_lapack_type(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    auto& lapack = lapack::routines<T>();
    auto solve = is_complex_v<T> && hermitian ? lapack.hetrs : lapack.sytrs;
    Columns factors = Columns::readable(factor), swaps = Columns::vectors(pivots), sides = Columns::of(x);
    for_each_matrix(batch_of(x), solve_flops(n, count), n * 8, [&](int64_t i, char* memory) {
      const int32_t* narrow = swaps.at<int32_t>(i);
      Int* wide = Scratch(memory).take<Int>(n);
      std::copy(narrow, narrow + n, wide);
      solve(kColumnMajor, 'L', n, count, factors.at<T>(i), factors.ld(), wide, sides.at<T>(i), sides.ld());
    });
  });
}

// ---- Least squares

namespace {

/// One call of a driver; with lwork = -1 it only measures.
template <class T>
Int least_squares(LstsqDriver driver, Int m, Int n, Int nrhs, T* a, T* b, Int ldb, lapack::Real<T>* s, Int* jpvt,
                  lapack::Real<T> rcond, Int* rank, T* work, Int lwork, lapack::Real<T>* rwork, Int* iwork) {
  auto& lapack = lapack::routines<T>();
  Int lda = std::max<Int>(1, m);
  if (driver == LstsqDriver::Gels) return lapack.gels(kColumnMajor, 'N', m, n, nrhs, a, lda, b, ldb, work, lwork);
  if constexpr (is_complex_v<T>) {
    if (driver == LstsqDriver::Gelsy)
      return lapack.gelsy(kColumnMajor, m, n, nrhs, a, lda, b, ldb, jpvt, rcond, rank, work, lwork, rwork);
    if (driver == LstsqDriver::Gelsd)
      return lapack.gelsd(kColumnMajor, m, n, nrhs, a, lda, b, ldb, s, rcond, rank, work, lwork, rwork, iwork);
    return lapack.gelss(kColumnMajor, m, n, nrhs, a, lda, b, ldb, s, rcond, rank, work, lwork, rwork);
  } else {
    static_cast<void>(rwork);
    if (driver == LstsqDriver::Gelsy)
      return lapack.gelsy(kColumnMajor, m, n, nrhs, a, lda, b, ldb, jpvt, rcond, rank, work, lwork);
    if (driver == LstsqDriver::Gelsd)
      return lapack.gelsd(kColumnMajor, m, n, nrhs, a, lda, b, ldb, s, rcond, rank, work, lwork, iwork);
    return lapack.gelss(kColumnMajor, m, n, nrhs, a, lda, b, ldb, s, rcond, rank, work, lwork);
  }
}

/// Squared sizes of what is left below the solution, by column: there LAPACK leaves the residual.
template <class T>
void sum_residuals(const T* b, int64_t m, int64_t n, int64_t nrhs, int64_t ld, lapack::Real<T>* out) {
  for (int64_t j = 0; j < nrhs; ++j) {
    lapack::Real<T> sum(0);
    for (int64_t i = n; i < m; ++i) sum += std::norm(b[j * ld + i]);
    out[j] = sum;
  }
}

}  // namespace

bool lstsq(LstsqDriver driver, const View& a, const View& x, const View& residuals, const View& ranks,
           const View& values, const View& infos, double rcond) {
  const int64_t m = rows_of(a), n = cols_of(a), k = std::min(m, n), nrhs = cols_of(x), ld = rows_of(x);
  const int64_t count = batch_of(a);
  const bool has_rank = driver != LstsqDriver::Gels;
  const bool has_values = driver == LstsqDriver::Gelsd || driver == LstsqDriver::Gelss;
  const bool no_problem = k == 0 || nrhs == 0;
  with_lapack_type(a.dtype, [&](auto tag) {
    using T = decltype(tag);
    using R = lapack::Real<T>;
    Columns matrices = Columns::of(a), sides = Columns::of(x);
    const R cut = static_cast<R>(rcond);
    T answer(1);
    R real_answer(1);
    Int integers = 1, rank = 0;
    if (!no_problem)
      least_squares<T>(driver, m, n, nrhs, nullptr, nullptr, ld, nullptr, &integers, cut, &rank, &answer, -1,
                       &real_answer, &integers);
    const Int lwork = work_size(answer);
    const Int lrwork = driver == LstsqDriver::Gelsd
                           ? work_size(real_answer)
                           : std::max<Int>({1, 5 * static_cast<Int>(k), 2 * static_cast<Int>(n)});
    const Int liwork = driver == LstsqDriver::Gelsd ? std::max<Int>(1, integers) : 1;
    Scratch measure(nullptr);
    measure.take<T>(lwork), measure.take<R>(lrwork), measure.take<Int>(liwork), measure.take<Int>(n);
    measure.take<R>(k);
    auto solve_one = [&](int64_t i, char* memory) {
      Scratch scratch(memory);
      T* work = scratch.take<T>(lwork);
      R* rwork = scratch.take<R>(lrwork);
      Int* iwork = scratch.take<Int>(liwork);
      Int* jpvt = scratch.take<Int>(n);
      R* s = scratch.take<R>(k);
      T* side = sides.at<T>(i);
      Int found = 0, failed = 0;
      std::fill(jpvt, jpvt + n, 0);
      std::fill(s, s + k, R(0));
      if (no_problem) {
        for (int64_t j = 0; j < nrhs; ++j) std::fill(side + j * ld, side + j * ld + n, T(0));
      } else {
        failed = least_squares<T>(driver, m, n, nrhs, matrices.at<T>(i), side, ld, s, jpvt, cut, &found, work, lwork,
                                  rwork, iwork);
      }
      infos.as<int32_t>()[i] = static_cast<int32_t>(failed);
      if (has_rank) ranks.as<int64_t>()[i] = found;
      if (has_values) std::copy(s, s + k, values.as<R>() + i * k);
      if (m > n) sum_residuals(side, m, n, nrhs, ld, residuals.as<R>() + i * nrhs);
    };
    for_each_matrix(count, 2.0 * static_cast<double>(m * n) * static_cast<double>(k + nrhs), measure.used(), solve_one);
  });
  const int64_t* found = ranks.as<int64_t>();
  return has_rank && std::any_of(found, found + count, [&](int64_t rank) { return rank != n; });
}

}  // namespace adjoint::cpu
