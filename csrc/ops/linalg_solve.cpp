// Systems of linear equations, inverses and determinants.
#include <algorithm>
#include <limits>

#include "ops/linalg.h"
#include "ops/linalg_batch.h"
#include "ops/memory.h"

namespace adjoint::ops {
namespace {

using kernels::LstsqDriver;
using kernels::PivotFault;

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
TensorPtr solve_factored(Tensor* LU, Tensor* pivots, Tensor* B, bool left, bool adjoint) {
  check_lapack_type("lu_solve_cpu", LU->dtype);
  std::vector<int64_t> batch = broadcast_batches(LU, B);
  TensorPtr factors = expanded_batch(LU, batch), swaps = expanded_vectors(pivots, batch);
  TensorPtr sides = expanded_batch(B, batch);
  // From the right, the equation is transposed: A^T X^T = B^T.
  TensorPtr result = column_major_copy(left ? sides.get() : swapped(sides.get()).get());
  {
    WithoutLock unlocked(work_on(result.get(), 2 * rows_of(LU)));
    on(LU->device).linalg.lu_solve(factors->view(), swaps->view(), result->view(), left, adjoint);
  }
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
  int64_t place = check_errors ? first_failure(infos.get()).matrix : -1;
  if (place >= 0)
    fail(ErrorKind::LinAlg, "torch.linalg.solve: ", batch_element(infos.get(), place),
         "The solver failed because the input matrix is singular.");
  TensorPtr result = solve_factored(LU.get(), pivots.get(), sides.get(), left, false);
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
  PivotFault fault = on(LU->device).linalg.lu_pivot_fault(swaps->view(), rows_of(LU));
  if (fault == PivotFault::TooSmall)
    fail(
        "Pivots given to lu_solve must all be greater or equal to 1. Did you properly pass the result of "
        "lu_factor?");
  if (fault == PivotFault::TooLarge)
    fail(
        "Pivots given to lu_solve must all be smaller or equal to LU.size(-2). Did you properly pass the result of "
        "lu_factor?");
  return solve_factored(LU, swaps.get(), B, left, adjoint);
}

static void check_inverted(const char* op, const Tensor* infos) {
  auto [place, code] = first_failure(infos);
  if (place >= 0)
    fail(ErrorKind::LinAlg, op, ": ", batch_element(infos, place), "The diagonal element ", code,
         " is zero, the inversion could not be completed because the input matrix is singular.");
}

TensorPair linalg_inv_ex(Tensor* A, bool check_errors) {
  const char* op = "linalg.inv";
  check_square(op, A);
  check_float(op, A);
  check_not_half(op, A);
  Sizes batch = batch_sizes(A);
  TensorPtr result = column_major(batch, rows_of(A), rows_of(A), A->dtype, A->device);
  TensorPtr infos = batch_numbers(batch, DType::Int32, A->device);
  {
    WithoutLock unlocked(work_on(A, 2 * rows_of(A)));
    on(A->device).linalg.inverse(A->view(), result->view(), infos->view());
  }
  if (check_errors) check_inverted(op, infos.get());
  return {std::move(result), std::move(infos)};
}

// ---- Determinants

TensorTriple linalg_det(Tensor* A) {
  check_square("linalg.det", A);
  check_float("linalg.det", A);
  auto [LU, pivots, infos] = linalg_lu_factor_ex(A, true, false);
  TensorPtr result = batch_numbers(batch_sizes(A), A->dtype, A->device);
  on(A->device).linalg.det(LU->view(), pivots->view(), result->view());
  return {std::move(result), std::move(LU), std::move(pivots)};
}

TensorList linalg_slogdet(Tensor* A) {
  check_square("linalg.slogdet", A);
  check_float("linalg.slogdet", A);
  check_not_half("linalg.slogdet", A);
  auto [LU, pivots, infos] = linalg_lu_factor_ex(A, true, false);
  TensorPtr signs = batch_numbers(batch_sizes(A), A->dtype, A->device);
  TensorPtr logs = batch_numbers(batch_sizes(A), real_type(A->dtype), A->device);
  on(A->device).linalg.slogdet(LU->view(), pivots->view(), signs->view(), logs->view());
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
  check_lapack_type("triangular_solve_cpu", A->dtype);
  TensorPtr factors = expanded_batch(A, batch), result = column_major_copy(expanded_batch(B, batch).get());
  WithoutLock unlocked(work_on(result.get(), rows_of(A)));
  on(A->device).linalg.triangular_solve(factors->view(), result->view(), upper, left, unitriangular);
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
  check_lapack_type("cholesky_solve_cpu", B->dtype);
  std::vector<int64_t> batch = broadcast_batches(L, B);
  TensorPtr factors = expanded_batch(L, batch), result = column_major_copy(expanded_batch(B, batch).get());
  WithoutLock unlocked(work_on(result.get(), 2 * rows_of(L)));
  on(B->device).linalg.cholesky_solve(factors->view(), result->view(), upper);
  return result;
}

TensorPtr cholesky_inverse(Tensor* L, bool upper) {
  const char* op = "cholesky_inverse";
  check_square(op, L);
  check_lapack_type("cholesky_inverse_out_cpu", L->dtype);
  TensorPtr result = column_major_copy(L), infos = batch_numbers(batch_sizes(L), DType::Int32, L->device);
  {
    WithoutLock unlocked(work_on(L, rows_of(L)));
    on(L->device).linalg.cholesky_inverse(result->view(), infos->view(), upper);
  }
  check_inverted(op, infos.get());
  return result;
}

/// Refuses pivots, n for each matrix, that LAPACK would follow out of the matrix.
static void check_ldl_pivots(const Tensor* pivots, int64_t n) {
  switch (on(pivots->device).linalg.ldl_pivot_fault(pivots->view(), n)) {
    case PivotFault::None: return;
    case PivotFault::TooSmall:
      fail(
          "Pivots given to ldl_solve must all satisfy |pivot| >= 1. Did you properly pass the result of "
          "ldl_factor?");
    case PivotFault::TooLarge:
      fail(
          "Pivots given to ldl_solve must all satisfy |pivot| <= LD.size(-2). Did you properly pass the result of "
          "ldl_factor?");
    case PivotFault::Unpaired:
      fail(
          "Pivots given to ldl_solve must be negative in pairs, one for each block of two rows. Did you properly pass "
          "the result of ldl_factor?");
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
  check_lapack_type("ldl_solve_kernel_cpu", LD->dtype);
  TensorPtr swaps = cast(pivots, DType::Int32);
  swaps = contiguous(swaps.get());
  int64_t n = rows_of(LD);
  check_ldl_pivots(swaps.get(), n);
  std::vector<int64_t> batch = broadcast_batches(LD, B);
  swaps = expanded_vectors(swaps.get(), batch);
  TensorPtr factors = expanded_batch(LD, batch), result = column_major_copy(expanded_batch(B, batch).get());
  WithoutLock unlocked(work_on(result.get(), 2 * n));
  on(LD->device).linalg.ldl_solve(factors->view(), swaps->view(), result->view(), hermitian);
  return result;
}

// ---- Least squares

static LstsqDriver to_driver(const std::string& name) {
  if (name == "gels") return LstsqDriver::Gels;
  if (name == "gelsy") return LstsqDriver::Gelsy;
  if (name == "gelsd") return LstsqDriver::Gelsd;
  if (name == "gelss") return LstsqDriver::Gelss;
  fail("torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)");
}

/// Singular values less than so much of the greatest count as none.
static double default_cut(DType real, int64_t size) {
  return static_cast<double>(size) * (real == DType::Float32 ? double{std::numeric_limits<float>::epsilon()}
                                                             : std::numeric_limits<double>::epsilon());
}

TensorList linalg_lstsq(const std::vector<Tensor*>& tensors, std::optional<double> rcond,
                        const std::string& driver_name) {
  const char* op = "torch.linalg.lstsq";
  if (tensors.size() != 2) fail(op, ": expected the two tensors A and B");
  Tensor *input = tensors[0], *B = tensors[1];
  check_matrix_dims(op, input);
  check_solvable(op, input, B, true);
  check_same_type(op, input, "A", B, "B");
  LstsqDriver driver = to_driver(driver_name);
  int64_t m = rows_of(input), n = cols_of(input);
  std::vector<int64_t> batch = broadcast_batches(input, B);
  DType dtype = input->dtype, real = real_type(dtype);
  check_lapack_type("linalg_lstsq_cpu", dtype);
  Device device = input->device;
  int64_t nrhs = cols_of(B), longest = std::max<int64_t>({m, n, 1});
  TensorPtr matrices = column_major_copy(expanded_batch(input, batch).get());
  TensorPtr sides = column_major(batch, longest, nrhs, dtype, device), wanted = expanded_batch(B, batch);
  on(device).memory.copy(wanted->view(), sides->view(sides->ndim(), wanted->shape->sizes(), sides->shape->strides()));
  bool has_values = driver == LstsqDriver::Gelsd || driver == LstsqDriver::Gelss;
  TensorPtr ranks = driver == LstsqDriver::Gels ? nothing(DType::Int64, device) : empty(batch, DType::Int64, device);
  TensorPtr values = has_values ? batch_vectors(batch, std::min(m, n), real, device) : nothing(real, device);
  TensorPtr residuals = batch_vectors(batch, nrhs, real, device);
  TensorPtr infos = batch_numbers(batch, DType::Int32, device);
  bool lacks_rank;
  {
    WithoutLock unlocked(work_on(matrices.get(), 2 * (std::min(m, n) + nrhs)));
    lacks_rank =
        on(device).linalg.lstsq(driver, matrices->view(), sides->view(), residuals->view(), ranks->view(),
                                values->view(), infos->view(), rcond.value_or(default_cut(real, std::max(m, n))));
  }
  auto [place, code] = first_failure(infos.get());
  if (place >= 0)
    fail(ErrorKind::LinAlg, op, ": ", batch_element(infos.get(), place),
         "The least squares solution could not be computed because the input matrix does not have full rank (error "
         "code: ",
         code, ").");
  // gelsy leaves something else where the others leave residuals.
  if (m <= n || lacks_rank || driver == LstsqDriver::Gelsy) residuals = nothing(real, device);
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
