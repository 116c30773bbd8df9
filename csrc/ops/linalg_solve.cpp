// Systems of linear equations, inverses and determinants.
#include <cmath>
#include <limits>

#include "ops/linalg.h"
#include "ops/linalg_batch.h"
#include "ops/linalg_small.h"
#include "ops/memory.h"

namespace adjoint::ops {
namespace {

using std::conj;

template <class T>
void conjugate(T* values, int64_t n) {
  if constexpr (is_complex_v<T>) std::transform(values, values + n, values, [](T v) { return conj(v); });
}

/// Whether the right-hand side is one vector for each matrix.
bool is_vector_side(const Tensor* A, const Tensor* B) {
  if (B->ndim() == 1) return true;
  if (B->ndim() != A->ndim() - 1) return false;
  return std::equal(B->sizes().begin(), B->sizes().end(), A->sizes().begin());
}

TensorPtr with_last_dim(const Tensor* tensor, bool added) {
  std::vector<int64_t> sizes(tensor->sizes().begin(), tensor->sizes().end());
  std::vector<int64_t> strides(tensor->strides().begin(), tensor->strides().end());
  if (added) {
    sizes.push_back(1);
    strides.push_back(1);
  } else {
    sizes.pop_back();
    strides.pop_back();
  }
  return alias(tensor, make_shape(sizes, strides));
}

/// Vectors of a batch, repeated to these sizes.
TensorPtr expanded_vectors(const Tensor* vectors, Sizes batch) {
  TensorPtr columns = with_last_dim(vectors, true);
  TensorPtr expanded = expanded_batch(columns.get(), batch);
  return with_last_dim(expanded.get(), false);
}

/// Solves op(A) X = B or X op(A) = B with the LU factors of A. The batches broadcast.
TensorPtr solve_factored(const char* kernel, Tensor* LU, Tensor* pivots, Tensor* B, bool left, bool adjoint) {
  std::vector<int64_t> batch = broadcast_batches(LU, B);
  int64_t n = rows_of(LU);
  TensorPtr factors = expanded_batch(LU, batch), swaps = expanded_vectors(pivots, batch);
  TensorPtr sides = expanded_batch(B, batch);
  // From the right, the equation is transposed: A^T X^T = B^T.
  TensorPtr result = column_major_copy(left ? sides.get() : swapped(sides.get()).get());
  int64_t count = cols_of(result.get());
  with_lapack_type(kernel, LU->dtype, [&](auto tag) {
    using T = decltype(tag);
    if (n == 0 || count == 0) return;
    Columns a = Columns::readable(factors.get()), p = Columns::vectors(swaps.get()), x = Columns::of(result);
    char trans = left ? (adjoint ? 'C' : 'N') : (adjoint ? 'N' : 'T');
    bool conjugated = !left && adjoint;
    for_each_column_range(product(batch), count, 2.0 * static_cast<double>(n) * static_cast<double>(n * count), n * 8,
                          [&](int64_t i, int64_t from, int64_t to, char* memory) {
                            const int32_t* narrow = p.at<int32_t>(i);
                            Int* wide = Scratch(memory).take<Int>(n);
                            std::copy(narrow, narrow + n, wide);
                            T* target = x.at<T>(i) + from * x.ld();
                            if (conjugated) conjugate(target, n * (to - from));
                            solve_lu_matrix(trans, n, to - from, a.at<T>(i), a.ld(), wide, target, x.ld());
                            if (conjugated) conjugate(target, n * (to - from));
                          });
  });
  return left ? result : swapped(result.get());
}

}  // namespace

// ---- By LU factors

TensorList linalg_solve_ex(const std::vector<Tensor*>& tensors, bool left, bool check_errors) {
  const char* op = "linalg.solve";
  if (tensors.size() != 2) fail("linalg.solve: expected the two tensors A and B");
  Tensor *A = tensors[0], *B = tensors[1];
  check_square(op, A);
  check_float(op, A);
  check_same_type(op, A, "A", B, "B");
  bool vector = is_vector_side(A, B);
  TensorPtr sides = vector ? with_last_dim(B, true) : TensorPtr::borrow(B);
  check_solvable(op, A, sides.get(), left);
  if (vector && !left)
    fail(
        "linalg.solve: Vector broadcasting of the left hand side is not supported for left=False. In this case "
        "linalg.solve is equivalent to B / A.squeeze(-1)");
  check_not_half(op, A);
  auto [LU, pivots, infos] = linalg_lu_factor_ex(A, true, false);
  int64_t place = check_errors ? first_failure(infos.get()) : -1;
  if (place >= 0)
    fail_linalg("torch.linalg.solve: " + batch_element(infos.get(), place) +
                "The solver failed because the input matrix is singular.");
  TensorPtr result = solve_factored("lu_solve_cpu", LU.get(), pivots.get(), sides.get(), left, false);
  if (vector) result = with_last_dim(result.get(), false);
  TensorList results;
  results.push_back(std::move(result));
  results.push_back(std::move(LU));
  results.push_back(std::move(pivots));
  results.push_back(std::move(infos));
  return results;
}

TensorPtr linalg_lu_solve(Tensor* LU, Tensor* pivots, Tensor* B, bool left, bool adjoint) {
  const char* op = "linalg.lu_solve";
  check_square(op, LU, "LU");
  check_float(op, LU);
  check_same_type(op, LU, "LU", B, "B");
  if (pivots->dtype != DType::Int32) fail(op, ": pivots should be a Tensor of scalar type torch.int32");
  check_matrix_dims(op, B, "B");
  check_solvable(op, LU, B, left);
  if (pivots->ndim() < 1 || rows_of(LU) != pivots->size(pivots->ndim() - 1))
    fail(op, ": Number of pivots per batch should be same as the dimension of the matrix");
  Sizes expected = LU->sizes().first(LU->ndim() - 1);
  if (!std::equal(expected.begin(), expected.end(), pivots->sizes().begin(), pivots->sizes().end()))
    fail(op, ": Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with shape ",
         to_string(pivots->sizes()), " instead");
  TensorPtr swaps = contiguous(pivots);
  for (int64_t i = 0; i < swaps->numel(); ++i) {
    int32_t pivot = swaps->as<int32_t>()[i];
    if (pivot < 1)
      fail(
          "Pivots given to lu_solve must all be greater or equal to 1. Did you properly pass the result of "
          "lu_factor?");
    if (pivot > rows_of(LU))
      fail(
          "Pivots given to lu_solve must all be smaller or equal to LU.size(-2). Did you properly pass the result of "
          "lu_factor?");
  }
  return solve_factored("lu_solve_cpu", LU, swaps.get(), B, left, adjoint);
}

static void check_inverted(const char* op, const Tensor* infos) {
  int64_t place = first_failure(infos);
  if (place < 0) return;
  fail_linalg(std::string(op) + ": " + batch_element(infos, place) + "The diagonal element " +
              std::to_string(infos->as<int32_t>()[place]) +
              " is zero, the inversion could not be completed because the input matrix is singular.");
}

TensorPair linalg_inv_ex(Tensor* A, bool check_errors) {
  const char* op = "linalg.inv";
  check_square(op, A);
  check_float(op, A);
  check_not_half(op, A);
  int64_t n = rows_of(A);
  if (n >= 256 && product(batch_sizes(A)) == 1) {
    // Columns of the inverse are independent: a third more arithmetic than with getri, but on all threads. The choice
    // does not depend on their number, and so neither do the bits of the result.
    auto [LU, pivots, failures] = linalg_lu_factor_ex(A, true, false);
    if (check_errors) check_inverted(op, failures.get());
    TensorPtr identity = column_major({}, n, n, A->dtype);
    with_lapack_type("linalg_inv_ex_cpu", A->dtype,
                     [&](auto tag) { fill_identity(identity->as<decltype(tag)>(), n, n, n); });
    return {solve_factored("linalg_inv_ex_cpu", LU.get(), pivots.get(), identity.get(), true, false),
            std::move(failures)};
  }
  TensorPtr result = column_major_copy(A), infos = batch_numbers(batch_sizes(A), DType::Int32);
  with_lapack_type("linalg_inv_ex_cpu", A->dtype, [&](auto tag) {
    using T = decltype(tag);
    auto& lapack = lapack::routines<T>();
    Columns inverse = Columns::of(result);
    T answer(1);
    if (n) lapack.getri(kColumnMajor, n, result->as<T>(), inverse.ld(), nullptr, &answer, -1);
    Int lwork = std::max<Int>(work_size(answer), n * std::min<int64_t>(n, kSmall));
    Scratch measure(nullptr);
    measure.take<Int>(n);
    measure.take<T>(lwork);
    for_each_matrix(infos->numel(), 2 * cubed(n), measure.used(), [&](int64_t i, char* memory) {
      Scratch scratch(memory);
      Int* pivots = scratch.take<Int>(n);
      T* work = scratch.take<T>(lwork);
      T* a = inverse.at<T>(i);
      bool small = kHasSmall<T> && n <= kSmall;
      if (small) std::copy(a, a + n * n, work);
      Int failed = factor_lu_matrix(n, n, small ? work : a, inverse.ld(), pivots);
      if (small && failed == 0) {
        fill_identity(a, n, n, inverse.ld());
        solve_lu_matrix('N', n, n, work, inverse.ld(), pivots, a, inverse.ld());
      } else if (n && failed == 0) {
        failed = lapack.getri(kColumnMajor, n, a, inverse.ld(), pivots, work, lwork);
      }
      infos->as<int32_t>()[i] = static_cast<int32_t>(failed);
    });
  });
  if (check_errors) check_inverted(op, infos.get());
  return {std::move(result), std::move(infos)};
}

// ---- Determinants

namespace {

/// each(i, diagonal, number of swaps is odd) for the packed LU factors of a batch.
template <class T, class Each>
void for_each_diagonal(const TensorPtr& LU, const TensorPtr& pivots, const Each& each) {
  int64_t n = rows_of(LU.get());
  Columns factors = Columns::of(LU);
  for (int64_t i = 0; i < product(batch_sizes(LU.get())); ++i) {
    const int32_t* swaps = pivots->as<int32_t>() + i * n;
    bool odd = false;
    for (int64_t j = 0; j < n; ++j) odd ^= swaps[j] != j + 1;
    each(i, factors.at<T>(i), n, factors.ld() + 1, odd);
  }
}

}  // namespace

TensorTriple linalg_det(Tensor* A) {
  check_square("linalg.det", A);
  check_float("linalg.det", A);
  auto [LU, pivots, infos] = linalg_lu_factor_ex(A, true, false);
  TensorPtr result = batch_numbers(batch_sizes(A), A->dtype);
  with_lapack_type("lu_cpu", A->dtype, [&](auto tag) {
    using T = decltype(tag);
    for_each_diagonal<T>(LU, pivots, [&](int64_t i, const T* diagonal, int64_t n, int64_t step, bool odd) {
      T value(odd ? -1 : 1);
      for (int64_t j = 0; j < n; ++j) value *= diagonal[j * step];
      result->as<T>()[i] = value;
    });
  });
  return {std::move(result), std::move(LU), std::move(pivots)};
}

TensorList linalg_slogdet(Tensor* A) {
  check_square("linalg.slogdet", A);
  check_float("linalg.slogdet", A);
  check_not_half("linalg.slogdet", A);
  auto [LU, pivots, infos] = linalg_lu_factor_ex(A, true, false);
  TensorPtr signs = batch_numbers(batch_sizes(A), A->dtype);
  TensorPtr logs = batch_numbers(batch_sizes(A), real_type(A->dtype));
  with_lapack_type("lu_cpu", A->dtype, [&](auto tag) {
    using T = decltype(tag);
    using R = lapack::Real<T>;
    for_each_diagonal<T>(LU, pivots, [&](int64_t i, const T* diagonal, int64_t n, int64_t step, bool odd) {
      T sign(odd ? -1 : 1);
      R log(0);
      for (int64_t j = 0; j < n; ++j) {
        T value = diagonal[j * step];
        R size = std::abs(value);
        log += std::log(size);
        sign *= size == 0 ? value : value / size;
      }
      signs->as<T>()[i] = sign;
      logs->as<R>()[i] = log;
    });
  });
  TensorList results;
  results.push_back(std::move(signs));
  results.push_back(std::move(logs));
  results.push_back(std::move(LU));
  results.push_back(std::move(pivots));
  return results;
}

// ---- Triangular and symmetric matrices

TensorPtr linalg_solve_triangular(const std::vector<Tensor*>& tensors, bool upper, bool left, bool unitriangular) {
  const char* op = "linalg.solve_triangular";
  if (tensors.size() != 2) fail("linalg.solve_triangular: expected the two tensors A and B");
  Tensor *A = tensors[0], *B = tensors[1];
  check_square(op, A);
  check_same_type(op, A, "A", B, "B");
  check_solvable(op, A, B, left);
  std::vector<int64_t> batch = broadcast_batches(A, B);
  TensorPtr factors = expanded_batch(A, batch), sides = expanded_batch(B, batch), result;
  with_lapack_type("triangular_solve_cpu", A->dtype, [&](auto tag) {
    using T = decltype(tag);
    result = column_major_copy(sides.get());
    int64_t n = rows_of(A), m = rows_of(B), count = cols_of(B);
    if (m == 0 || count == 0) return;
    auto& lapack = lapack::routines<T>();
    // Row by row is column by column of the transpose: the upper triangle becomes the lower one.
    bool flipped = A->stride(A->ndim() - 1) == 1 && A->stride(A->ndim() - 2) >= n;
    if (flipped) factors = swapped(factors.get());
    Columns a = Columns::readable(factors.get()), x = Columns::of(result);
    T one(1);
    typename lapack::Routines<T>::Factor alpha;
    if constexpr (is_complex_v<T>) {
      alpha = &one;
    } else {
      alpha = one;
    }
    // Columns of B are independent from the left, rows from the right.
    for_each_column_range(
        product(batch), left ? count : m, static_cast<double>(n) * static_cast<double>(m * count), 0,
        [&](int64_t i, int64_t from, int64_t to, char*) {
          lapack.trsm(kColumnMajor, left ? lapack::kLeft : lapack::kRight,
                      upper != flipped ? lapack::kUpper : lapack::kLower, flipped ? blas::kTrans : blas::kNoTrans,
                      unitriangular ? lapack::kUnit : lapack::kNonUnit, left ? m : to - from, left ? to - from : count,
                      alpha, a.at<T>(i), a.ld(), x.at<T>(i) + (left ? from * x.ld() : from), x.ld());
        });
  });
  return result;
}

TensorPtr cholesky_solve(Tensor* B, Tensor* L, bool upper) {
  if (B->ndim() < 2) fail("b should have at least 2 dimensions, but has ", B->ndim(), " dimensions instead");
  if (L->ndim() < 2) fail("u should have at least 2 dimensions, but has ", L->ndim(), " dimensions instead");
  if (rows_of(L) != cols_of(L))
    fail("A must be batches of square matrices, but they are ", rows_of(L), " by ", cols_of(L), " matrices");
  if (rows_of(B) != rows_of(L))
    fail("Incompatible matrix sizes for cholesky_solve: each A matrix is ", rows_of(L), " by ", cols_of(L),
         " but each b matrix is ", rows_of(B), " by ", cols_of(B));
  check_same_type("cholesky_solve", B, "B", L, "L");
  std::vector<int64_t> batch = broadcast_batches(L, B);
  TensorPtr factors = expanded_batch(L, batch), sides = expanded_batch(B, batch), result;
  with_lapack_type("cholesky_solve_cpu", B->dtype, [&](auto tag) {
    using T = decltype(tag);
    result = column_major_copy(sides.get());
    int64_t n = rows_of(L), count = cols_of(B);
    if (n == 0 || count == 0) return;
    auto& lapack = lapack::routines<T>();
    Columns a = Columns::readable(factors.get()), x = Columns::of(result);
    for_each_column_range(product(batch), count, 2.0 * static_cast<double>(n) * static_cast<double>(n * count), 0,
                          [&](int64_t i, int64_t from, int64_t to, char*) {
                            lapack.potrs(kColumnMajor, upper ? 'U' : 'L', n, to - from, a.at<T>(i), a.ld(),
                                         x.at<T>(i) + from * x.ld(), x.ld());
                          });
  });
  return result;
}

TensorPtr cholesky_inverse(Tensor* L, bool upper) {
  const char* op = "cholesky_inverse";
  check_square(op, L);
  int64_t n = rows_of(L);
  TensorPtr result, infos = batch_numbers(batch_sizes(L), DType::Int32);
  with_lapack_type("cholesky_inverse_out_cpu", L->dtype, [&](auto tag) {
    using T = decltype(tag);
    result = column_major_copy(L);
    auto& lapack = lapack::routines<T>();
    Columns inverse = Columns::of(result);
    for_each_matrix(infos->numel(), cubed(n), 0, [&](int64_t i, char*) {
      T* a = inverse.at<T>(i);
      Int ld = inverse.ld();
      infos->as<int32_t>()[i] = n ? static_cast<int32_t>(lapack.potri(kColumnMajor, upper ? 'U' : 'L', n, a, ld)) : 0;
      for (int64_t j = 0; j < n; ++j) {
        if constexpr (is_complex_v<T>) a[j * ld + j] = a[j * ld + j].real();
        for (int64_t k = 0; k < j; ++k) {
          T &above = a[j * ld + k], &below = a[k * ld + j];
          T known = upper ? above : below;
          if constexpr (is_complex_v<T>) known = conj(known);
          (upper ? below : above) = known;
        }
      }
    });
  });
  check_inverted(op, infos.get());
  return result;
}

/// Refuses pivots, n for each matrix, that LAPACK would follow out of the matrix.
static void check_ldl_pivots(const Tensor* pivots, int64_t n) {
  const int32_t* all = pivots->as<int32_t>();
  for (int64_t i = 0; i < pivots->numel(); ++i) {
    int64_t pivot = std::abs(static_cast<int64_t>(all[i]));
    if (pivot < 1)
      fail(
          "Pivots given to ldl_solve must all satisfy |pivot| >= 1. Did you properly pass the result of "
          "ldl_factor?");
    if (pivot > n)
      fail(
          "Pivots given to ldl_solve must all satisfy |pivot| <= LD.size(-2). Did you properly pass the result of "
          "ldl_factor?");
  }
  for (int64_t start = 0; start < pivots->numel(); start += n) {
    for (int64_t k = 0; k < n; k += all[start + k] < 0 ? 2 : 1) {
      if (all[start + k] < 0 && (k + 1 == n || all[start + k + 1] > 0))
        fail(
            "Pivots given to ldl_solve must be negative in pairs, one for each block of two rows. Did you properly "
            "pass "
            "the result of ldl_factor?");
    }
  }
}

TensorPtr linalg_ldl_solve(Tensor* LD, Tensor* pivots, Tensor* B, bool hermitian) {
  const char* op = "torch.linalg.ldl_solve";
  check_square(op, LD, "LD");
  check_float(op, LD);
  if (B->ndim() < 2) fail(op, ": The input tensor B must have at least 2 dimensions.");
  check_solvable(op, LD, B, true);
  Sizes expected = LD->sizes().first(LD->ndim() - 1);
  if (!std::equal(expected.begin(), expected.end(), pivots->sizes().begin(), pivots->sizes().end()))
    fail(op, ": Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape ",
         to_string(pivots->sizes()), " instead");
  if (!is_integral(pivots->dtype) || pivots->dtype == DType::Bool)
    fail(op, ": Expected pivots to be integers. Got ", info(pivots->dtype).legacy_name);
  check_same_type(op, LD, "LD", B, "B");
  TensorPtr swaps = cast(pivots, DType::Int32);
  swaps = contiguous(swaps.get());
  int64_t n = rows_of(LD);
  check_ldl_pivots(swaps.get(), n);
  std::vector<int64_t> batch = broadcast_batches(LD, B);
  TensorPtr factors = expanded_batch(LD, batch), sides = expanded_batch(B, batch), result;
  swaps = expanded_vectors(swaps.get(), batch);
  with_lapack_type("ldl_solve_kernel_cpu", LD->dtype, [&](auto tag) {
    using T = decltype(tag);
    result = column_major_copy(sides.get());
    int64_t count = cols_of(B);
    if (n == 0 || count == 0) return;
    auto& lapack = lapack::routines<T>();
    auto solve = is_complex_v<T> && hermitian ? lapack.hetrs : lapack.sytrs;
    Columns a = Columns::readable(factors.get()), p = Columns::vectors(swaps.get()), x = Columns::of(result);
    for_each_matrix(product(batch), 2.0 * static_cast<double>(n) * static_cast<double>(n * count), n * 8,
                    [&](int64_t i, char* memory) {
                      const int32_t* narrow = p.at<int32_t>(i);
                      Int* wide = Scratch(memory).take<Int>(n);
                      std::copy(narrow, narrow + n, wide);
                      solve(kColumnMajor, 'L', n, count, a.at<T>(i), a.ld(), wide, x.at<T>(i), x.ld());
                    });
  });
  return result;
}

// ---- Least squares

namespace {

enum class Driver { gels, gelsy, gelsd, gelss };

Driver to_driver(const std::string& name) {
  if (name == "gels") return Driver::gels;
  if (name == "gelsy") return Driver::gelsy;
  if (name == "gelsd") return Driver::gelsd;
  if (name == "gelss") return Driver::gelss;
  fail("torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)");
}

/// One call of a driver; with lwork = -1 it only measures.
template <class T>
Int least_squares(Driver driver, Int m, Int n, Int nrhs, T* a, T* b, Int ldb, lapack::Real<T>* s, Int* jpvt,
                  lapack::Real<T> rcond, Int* rank, T* work, Int lwork, lapack::Real<T>* rwork, Int* iwork) {
  auto& lapack = lapack::routines<T>();
  Int lda = std::max<Int>(1, m);
  if (driver == Driver::gels) return lapack.gels(kColumnMajor, 'N', m, n, nrhs, a, lda, b, ldb, work, lwork);
  if constexpr (is_complex_v<T>) {
    if (driver == Driver::gelsy)
      return lapack.gelsy(kColumnMajor, m, n, nrhs, a, lda, b, ldb, jpvt, rcond, rank, work, lwork, rwork);
    if (driver == Driver::gelsd)
      return lapack.gelsd(kColumnMajor, m, n, nrhs, a, lda, b, ldb, s, rcond, rank, work, lwork, rwork, iwork);
    return lapack.gelss(kColumnMajor, m, n, nrhs, a, lda, b, ldb, s, rcond, rank, work, lwork, rwork);
  } else {
    static_cast<void>(rwork);
    if (driver == Driver::gelsy)
      return lapack.gelsy(kColumnMajor, m, n, nrhs, a, lda, b, ldb, jpvt, rcond, rank, work, lwork);
    if (driver == Driver::gelsd)
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

TensorList linalg_lstsq(const std::vector<Tensor*>& tensors, std::optional<double> rcond,
                        const std::string& driver_name) {
  const char* op = "torch.linalg.lstsq";
  if (tensors.size() != 2) fail(op, ": expected the two tensors A and B");
  Tensor *input = tensors[0], *B = tensors[1];
  check_matrix_dims(op, input);
  check_solvable(op, input, B, true);
  check_same_type(op, input, "A", B, "B");
  Driver driver = to_driver(driver_name);
  int64_t m = rows_of(input), n = cols_of(input);
  std::vector<int64_t> batch = broadcast_batches(input, B);
  DType dtype = input->dtype, real = real_type(dtype);
  int64_t nrhs = cols_of(B), ld = std::max<int64_t>({m, n, 1}), k = std::min(m, n), count = product(batch);
  TensorPtr matrices = column_major_copy(expanded_batch(input, batch).get());
  TensorPtr sides = column_major(batch, ld, nrhs, dtype);
  TensorPtr wanted = expanded_batch(B, batch);
  cpu::copy(wanted->view(), {sides->data, dtype, sides->ndim(), wanted->shape->sizes(), sides->shape->strides()});
  TensorPtr ranks = driver == Driver::gels ? empty(std::vector<int64_t>{0}, DType::Int64) : empty(batch, DType::Int64);
  bool has_values = driver == Driver::gelsd || driver == Driver::gelss;
  TensorPtr values = has_values ? batch_vectors(batch, k, real) : empty(std::vector<int64_t>{0}, real);
  TensorPtr residuals = batch_vectors(batch, nrhs, real);
  TensorPtr infos = empty(batch, DType::Int32);
  bool full_rank = driver != Driver::gelsy;
  with_lapack_type("linalg_lstsq_cpu", dtype, [&](auto tag) {
    using T = decltype(tag);
    using R = lapack::Real<T>;
    Columns a = Columns::of(matrices), b = Columns::of(sides);
    R cut = static_cast<R>(rcond.value_or(std::numeric_limits<R>::epsilon() * static_cast<double>(std::max(m, n))));
    bool empty_problem = k == 0 || nrhs == 0;
    T answer(1);
    R real_answer(1);
    Int integers = 1, rank = 0;
    if (!empty_problem)
      least_squares<T>(driver, m, n, nrhs, nullptr, nullptr, ld, nullptr, &integers, cut, &rank, &answer, -1,
                       &real_answer, &integers);
    Int lwork = work_size(answer);
    Int lrwork = driver == Driver::gelsd ? work_size(real_answer)
                                         : std::max<Int>({1, 5 * static_cast<Int>(k), 2 * static_cast<Int>(n)});
    Int liwork = driver == Driver::gelsd ? std::max<Int>(1, integers) : 1;
    Scratch measure(nullptr);
    measure.take<T>(lwork), measure.take<R>(lrwork), measure.take<Int>(liwork), measure.take<Int>(n);
    measure.take<R>(k);
    for_each_matrix(count, 2.0 * static_cast<double>(m * n) * static_cast<double>(k + nrhs), measure.used(),
                    [&](int64_t i, char* memory) {
                      Scratch scratch(memory);
                      T* work = scratch.take<T>(lwork);
                      R* rwork = scratch.take<R>(lrwork);
                      Int* iwork = scratch.take<Int>(liwork);
                      Int* jpvt = scratch.take<Int>(n);
                      R* s = scratch.take<R>(k);
                      T* x = b.at<T>(i);
                      Int found = 0;
                      std::fill(jpvt, jpvt + n, 0);
                      std::fill(s, s + k, R(0));
                      infos->as<int32_t>()[i] =
                          empty_problem
                              ? 0
                              : static_cast<int32_t>(least_squares<T>(driver, m, n, nrhs, a.at<T>(i), x, ld, s, jpvt,
                                                                      cut, &found, work, lwork, rwork, iwork));
                      if (empty_problem) {
                        for (int64_t j = 0; j < nrhs; ++j) std::fill(x + j * ld, x + j * ld + n, T(0));
                      }
                      if (driver != Driver::gels) ranks->as<int64_t>()[i] = found;
                      if (has_values) std::copy(s, s + k, values->as<R>() + i * k);
                      if (m > n) sum_residuals(x, m, n, nrhs, ld, residuals->as<R>() + i * nrhs);
                    });
    if (driver != Driver::gels)
      for (int64_t i = 0; i < count; ++i) full_rank = full_rank && ranks->as<int64_t>()[i] == n;
  });
  int64_t place = first_failure(infos.get());
  if (place >= 0)
    fail_linalg(std::string(op) + ": " + batch_element(infos.get(), place) +
                "The least squares solution could not be computed because the input matrix does not have full rank "
                "(error code: " +
                std::to_string(infos->as<int32_t>()[place]) + ").");
  if (m <= n || !full_rank) residuals = empty(std::vector<int64_t>{0}, real);
  // The solution is what lies in the first n rows.
  std::vector<int64_t> sizes(batch);
  sizes.insert(sizes.end(), {n, nrhs});
  TensorList results;
  results.push_back(alias(sides.get(), make_shape(sizes, sides->strides())));
  results.push_back(std::move(residuals));
  results.push_back(std::move(ranks));
  results.push_back(std::move(values));
  return results;
}

}  // namespace adjoint::ops
