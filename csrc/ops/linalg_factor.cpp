// Cholesky, LU, LDL and QR factorisations.
#include "ops/linalg.h"
#include "ops/linalg_batch.h"
#include "ops/memory.h"

namespace adjoint::ops {
namespace {

TensorPair factor_cholesky(const char* op, Tensor* A, bool upper) {
  check_square(op, A);
  check_lapack_type("cholesky_cpu", A->dtype);
  TensorPtr result = column_major_copy(A), infos = batch_numbers(batch_sizes(A), DType::Int32, A->device);
  WithoutLock unlocked(work_on(A, rows_of(A)));
  on(A->device).linalg.cholesky(result->view(), infos->view(), upper);
  return {std::move(result), std::move(infos)};
}

void check_cholesky(const char* op, const Tensor* infos) {
  auto [place, code] = first_failure(infos);
  if (place < 0) return;
  fail(ErrorKind::LinAlg, op, ": ", batch_element(infos, place),
       "The factorization could not be completed because the input is not positive-definite (the leading minor of "
       "order ",
       code, " is not positive-definite).");
}

void check_lu_input(const char* op, const Tensor* A, bool pivot) {
  if (A->ndim() < 2)
    fail(op, ": Expected tensor with 2 or more dimensions. Got size: ", to_string(A->sizes()), " instead");
  if (!pivot) fail("linalg.lu_factor: LU without pivoting is not implemented on the CPU");
}

TensorTriple factor_lu(Tensor* A) {
  check_lapack_type("lu_cpu", A->dtype);
  int64_t k = std::min(rows_of(A), cols_of(A));
  Sizes batch = batch_sizes(A);
  TensorPtr LU = column_major_copy(A), pivots = batch_vectors(batch, k, DType::Int32, A->device);
  TensorPtr infos = batch_numbers(batch, DType::Int32, A->device);
  WithoutLock unlocked(work_on(A, k));
  on(A->device).linalg.lu_factor(LU->view(), pivots->view(), infos->view());
  return {std::move(LU), std::move(pivots), std::move(infos)};
}

/// Row-major 0-1 matrices from row swaps.
TensorPtr unpack_pivots_of(const Tensor* LU, Tensor* pivots) {
  if (pivots->dtype != DType::Int32)
    fail(
        "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\n"
        "Note: this function is intended to be used with the output produced by torch.linalg.lu_factor");
  int64_t m = rows_of(LU);
  Sizes batch = batch_sizes(LU);
  bool fits = pivots->ndim() == LU->ndim() - 1;
  for (size_t d = 0; fits && d < batch.size(); ++d) fits = pivots->size(static_cast<int>(d)) == batch[d];
  if (!fits)
    fail("torch.lu_unpack: LU_pivots of shape ", to_string(pivots->sizes()), " do not belong to LU_data of shape ",
         to_string(LU->sizes()));
  TensorPtr swaps = contiguous(pivots);
  auto& kernels = on(LU->device).linalg;
  if (pivots->size(pivots->ndim() - 1) != std::min(m, cols_of(LU)) ||
      kernels.lu_pivot_fault(swaps->view(), m) != kernels::PivotFault::None)
    fail(
        "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive."
        "Did you properly pass the result of lu_factor?");
  TensorPtr result = row_major(batch, m, m, LU->dtype, LU->device);
  kernels.permutation(swaps->view(), result->view());
  return result;
}

/// The unit lower factor (m by k) and the upper factor (k by n), row by row.
TensorPair unpack_factors(const Tensor* LU) {
  check_lapack_type("lu_unpack", LU->dtype);
  int64_t m = rows_of(LU), n = cols_of(LU), k = std::min(m, n);
  TensorPtr lower = row_major(batch_sizes(LU), m, k, LU->dtype, LU->device);
  TensorPtr upper = row_major(batch_sizes(LU), k, n, LU->dtype, LU->device);
  WithoutLock unlocked(LU->numel());
  on(LU->device).linalg.unit_lower_triangle(LU->view(), lower->view());
  on(LU->device).linalg.upper_triangle(LU->view(), upper->view());
  return {std::move(lower), std::move(upper)};
}

}  // namespace

// ---- Cholesky

TensorPair linalg_cholesky_ex(Tensor* A, bool upper, bool check_errors) {
  check_square("linalg.cholesky", A);
  check_float("linalg.cholesky", A);
  TensorPair result = factor_cholesky("linalg.cholesky", A, upper);
  if (check_errors) check_cholesky("linalg.cholesky", result.second.get());
  return result;
}

TensorPtr cholesky(Tensor* input, bool upper) {
  if (input->numel() == 0) return empty(input->sizes(), input->dtype, input->device);
  TensorPair result = factor_cholesky("cholesky", input, upper);
  check_cholesky("cholesky", result.second.get());
  return std::move(result.first);
}

// ---- LU

TensorTriple linalg_lu_factor_ex(Tensor* A, bool pivot, bool check_errors) {
  check_lu_input("torch.lu_factor", A, pivot);
  TensorTriple result = factor_lu(A);
  if (!check_errors) return result;
  Tensor* infos = std::get<2>(result).get();
  auto [place, at] = first_failure(infos);
  if (place >= 0)
    fail("torch.linalg.lu_factor: ", batch_element(infos, place), "U[", at, ",", at,
         "] is zero and using it on lu_solve would result in a division by zero. If you still want to perform the "
         "factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)");
  return result;
}

TensorTriple lu_unpack(Tensor* LU_data, Tensor* LU_pivots, bool unpack_data, bool unpack_pivots) {
  if (LU_data->ndim() < 2)
    fail("torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: ", to_string(LU_data->sizes()),
         " instead");
  auto none = [&] { return nothing(LU_data->dtype, LU_data->device); };
  TensorPtr P = unpack_pivots ? unpack_pivots_of(LU_data, LU_pivots) : none();
  if (!unpack_data) return {std::move(P), none(), none()};
  auto [L, U] = unpack_factors(LU_data);
  return {std::move(P), std::move(L), std::move(U)};
}

TensorTriple linalg_lu(Tensor* A, bool pivot) {
  check_lu_input("linalg.lu", A, pivot);
  auto [LU, pivots, infos] = factor_lu(A);
  return lu_unpack(LU.get(), pivots.get(), true, true);
}

// ---- LDL

TensorTriple linalg_ldl_factor_ex(Tensor* A, bool hermitian, bool check_errors) {
  const char* op = "torch.linalg.ldl_factor_ex";
  check_square(op, A);
  check_float(op, A);
  check_lapack_type("ldl_factor_kernel_cpu", A->dtype);
  Sizes batch = batch_sizes(A);
  TensorPtr LD = column_major_copy(A), pivots = batch_vectors(batch, rows_of(A), DType::Int32, A->device);
  TensorPtr infos = batch_numbers(batch, DType::Int32, A->device);
  {
    WithoutLock unlocked(work_on(A, rows_of(A)));
    on(A->device).linalg.ldl_factor(LD->view(), pivots->view(), infos->view(), hermitian);
  }
  int64_t place = check_errors ? first_failure(infos.get()).matrix : -1;
  if (place >= 0)
    fail(ErrorKind::LinAlg, op, ": ", batch_element(infos.get(), place),
         "The factor D has a zero on its diagonal: the input matrix is singular.");
  return {std::move(LD), std::move(pivots), std::move(infos)};
}

// ---- QR

static void multiply_reflectors(const Tensor* matrices, const Tensor* tau) {
  WithoutLock unlocked(work_on(matrices, tau->size(tau->ndim() - 1)));
  on(matrices->device).linalg.orgqr(matrices->view(), tau->view());
}

TensorPair geqrf(Tensor* input) {
  if (input->ndim() < 2) fail("torch.geqrf: input must have at least 2 dimensions.");
  check_lapack_type("geqrf_cpu", input->dtype);
  int64_t k = std::min(rows_of(input), cols_of(input));
  TensorPtr a = column_major_copy(input), tau = batch_vectors(batch_sizes(input), k, input->dtype, input->device);
  WithoutLock unlocked(work_on(input, k));
  on(input->device).linalg.geqrf(a->view(), tau->view());
  return {std::move(a), std::move(tau)};
}

/// The first columns of one batch of matrices into those of another.
static void copy_columns(const Tensor* from, const Tensor* to) {
  std::vector<int64_t> sizes(to->sizes().begin(), to->sizes().end());
  sizes.back() = std::min(cols_of(from), cols_of(to));
  const int n = to->ndim();
  on(to->device)
      .memory.copy(from->view(n, sizes.data(), from->shape->strides()),
                   to->view(n, sizes.data(), to->shape->strides()));
}

TensorPair linalg_qr(Tensor* A, const std::string& mode) {
  check_matrix_dims("linalg.qr", A);
  check_float("linalg.qr", A);
  if (mode != "reduced" && mode != "complete" && mode != "r")
    fail("qr received unrecognized mode '", mode, "' but expected one of 'reduced' (default), 'r', or 'complete'");
  check_lapack_type("geqrf_cpu", A->dtype);
  int64_t m = rows_of(A), n = cols_of(A), wanted = mode == "complete" ? m : std::min(m, n);
  Sizes batch = batch_sizes(A);
  auto [reflectors, tau] = geqrf(A);
  TensorPtr R = column_major(batch, wanted, n, A->dtype, A->device);
  on(A->device).linalg.upper_triangle(reflectors->view(), R->view());
  if (mode == "r") return {nothing(A->dtype, A->device), std::move(R)};
  TensorPtr Q = column_major(batch, m, wanted, A->dtype, A->device);
  copy_columns(reflectors.get(), Q.get());
  multiply_reflectors(Q.get(), tau.get());
  return {std::move(Q), std::move(R)};
}

static void check_tau(const char* op, const Tensor* input, const Tensor* tau) {
  if (input->ndim() < 2) fail(op, ": input must have at least 2 dimensions.");
  if (tau->ndim() != input->ndim() - 1)
    fail(op, ": Expected tau to have one dimension less than input, but got tau.ndim equal to ", tau->ndim(),
         " and input.ndim is equal to ", input->ndim());
  for (int d = 0; d < input->ndim() - 2; ++d)
    if (tau->size(d) != input->size(d))
      fail(op, ": Expected batch dimensions of tau to be equal to input.shape[:-2], but got ",
           to_string(tau->sizes().first(tau->ndim() - 1)));
  if (tau->dtype != input->dtype)
    fail(op, ": tau dtype ", info(tau->dtype).legacy_name, " does not match input dtype ",
         info(input->dtype).legacy_name);
}

TensorPtr householder_product(const std::vector<Tensor*>& tensors) {
  const char* op = "torch.linalg.householder_product";
  if (tensors.size() != 2) fail(op, ": expected the two tensors input and tau");
  Tensor *input = tensors[0], *tau = tensors[1];
  if (input->ndim() >= 2 && rows_of(input) < cols_of(input))
    fail(op, ": input.shape[-2] must be greater than or equal to input.shape[-1]");
  if (input->ndim() >= 2 && tau->ndim() == 0)
    fail(ErrorKind::Index, "Dimension specified as -1 but tensor has no dimensions");
  if (input->ndim() >= 2 && cols_of(input) < tau->size(tau->ndim() - 1))
    fail(op, ": input.shape[-1] must be greater than or equal to tau.shape[-1]");
  check_tau(op, input, tau);
  check_lapack_type("orgqr_cpu", input->dtype);
  TensorPtr result = column_major_copy(input);
  multiply_reflectors(result.get(), tau);
  return result;
}

TensorPtr ormqr(Tensor* input, Tensor* tau, Tensor* other, bool left, bool transpose) {
  const char* op = "torch.ormqr";
  if (input->ndim() < 2) fail(op, ": input must have at least 2 dimensions.");
  if (other->ndim() < 2) fail(op, ": other must have at least 2 dimensions.");
  int64_t size = left ? rows_of(other) : cols_of(other);
  const char* side = left ? "other.shape[-2]" : "other.shape[-1]";
  if (tau->ndim() < 1 || size < tau->size(tau->ndim() - 1))
    fail(op, ": ", side, " must be greater than or equal to tau.shape[-1]");
  if (size != rows_of(input)) fail(op, ": ", side, " must be equal to input.shape[-2]");
  int64_t k = tau->size(tau->ndim() - 1);
  if (k > cols_of(input)) fail(op, ": tau.shape[-1] must be equal to min(other.shape[-2], input.shape[-1])");
  check_tau(op, input, tau);
  if (other->ndim() != input->ndim())
    fail(op, ": Expected other to have the same number of dimensions as input, but got other.ndim equal to ",
         other->ndim(), " and input.ndim is equal to ", input->ndim());
  for (int d = 0; d < input->ndim() - 2; ++d)
    if (other->size(d) != input->size(d))
      fail(op, ": Expected batch dimensions of other to be equal to input.shape[:-2], but got ",
           to_string(batch_sizes(other)));
  if (other->dtype != input->dtype)
    fail(op, ": Expected input and other to have the same dtype, but input has dtype ", info(input->dtype).legacy_name,
         " and other has dtype ", info(other->dtype).legacy_name);
  check_lapack_type("ormqr_cpu", input->dtype);
  TensorPtr result = column_major_copy(other);
  WithoutLock unlocked(work_on(other, 4 * k));
  on(input->device).linalg.ormqr(input->view(), tau->view(), result->view(), left, transpose);
  return result;
}

}  // namespace adjoint::ops
