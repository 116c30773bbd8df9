// Singular values, eigenvalues, and the exponential of matrices.
#include <algorithm>
#include <cctype>

#include "ops/linalg.h"
#include "ops/linalg_batch.h"
#include "ops/memory.h"

namespace adjoint::ops {

static void check_converged(const char* op, const Tensor* infos, const char* what) {
  auto [place, code] = first_failure(infos);
  if (place < 0) return;
  std::string start =
      std::string(op) + ": " + batch_element(infos, place) + "The algorithm failed to converge because ";
  if (code < 0) fail(ErrorKind::LinAlg, start, "the input matrix contained non-finite values.");
  fail(ErrorKind::LinAlg, start, "the input matrix is ill-conditioned or has too many repeated ", what,
       " (error code: ", code, ").");
}

// ---- Singular values

TensorTriple linalg_svd(Tensor* A, bool full_matrices, bool compute_uv) {
  const char* op = "linalg.svd";
  check_matrix_dims(op, A);
  check_float(op, A);
  check_lapack_type("linalg_svd_cpu", A->dtype);
  using kernels::SvdVectors;
  SvdVectors vectors = !compute_uv ? SvdVectors::None : full_matrices ? SvdVectors::Full : SvdVectors::Reduced;
  int64_t m = rows_of(A), n = cols_of(A), k = std::min(m, n);
  Sizes batch = batch_sizes(A);
  auto matrices = [&](int64_t rows, int64_t cols) {
    return compute_uv ? column_major(batch, rows, cols, A->dtype, A->device) : nothing(A->dtype, A->device);
  };
  TensorPtr U = matrices(m, full_matrices ? m : k), Vh = matrices(full_matrices ? n : k, n);
  TensorPtr S = batch_vectors(batch, k, real_type(A->dtype), A->device);
  TensorPtr overwritten = column_major_copy(A), infos = batch_numbers(batch, DType::Int32, A->device);
  {
    WithoutLock unlocked(work_on(A, (compute_uv ? 20 : 4) * k));
    on(A->device).linalg.svd(overwritten->view(), U->view(), S->view(), Vh->view(), infos->view(), vectors);
  }
  check_converged(op, infos.get(), "singular values");
  return {std::move(U), std::move(S), std::move(Vh)};
}

// ---- Eigenvalues

TensorPair linalg_eigh(Tensor* A, const std::string& UPLO, bool compute_v) {
  const char* op = "linalg.eigh";
  check_square(op, A);
  char uplo = UPLO.empty() ? ' ' : static_cast<char>(std::toupper(static_cast<unsigned char>(UPLO[0])));
  if (UPLO.size() != 1 || (uplo != 'L' && uplo != 'U')) fail("Expected UPLO argument to be 'L' or 'U', but got ", UPLO);
  check_lapack_type("linalg_eigh_cpu", A->dtype);
  Sizes batch = batch_sizes(A);
  TensorPtr values = batch_vectors(batch, rows_of(A), real_type(A->dtype), A->device);
  TensorPtr vectors = column_major_copy(A), infos = batch_numbers(batch, DType::Int32, A->device);
  {
    WithoutLock unlocked(work_on(A, (compute_v ? 9 : 1) * rows_of(A)));
    on(A->device).linalg.eigh(vectors->view(), values->view(), infos->view(), uplo == 'U', compute_v);
  }
  check_converged(op, infos.get(), "eigenvalues");
  if (!compute_v) vectors = nothing(A->dtype, A->device);
  return {std::move(values), std::move(vectors)};
}

TensorPair linalg_eig(Tensor* A, bool compute_v) {
  const char* op = "linalg.eig";
  check_square(op, A);
  if (!is_differentiable(A->dtype)) fail("Unknown Complex ScalarType for ", info(A->dtype).legacy_name);
  check_lapack_type("linalg_eig_out_cpu", A->dtype);
  int64_t n = rows_of(A);
  Sizes batch = batch_sizes(A);
  DType complex = complex_type(A->dtype);
  TensorPtr overwritten = column_major_copy(A);
  if (on(A->device).linalg.has_nonfinite(overwritten->view()))
    fail("torch.linalg.eig: input tensor should not contain infs or NaNs.");
  TensorPtr values = batch_vectors(batch, n, complex, A->device);
  TensorPtr vectors = compute_v ? column_major(batch, n, n, complex, A->device) : nothing(complex, A->device);
  TensorPtr infos = batch_numbers(batch, DType::Int32, A->device);
  {
    WithoutLock unlocked(work_on(A, 25 * n));
    on(A->device).linalg.eig(overwritten->view(), values->view(), vectors->view(), infos->view(), compute_v);
  }
  check_converged(op, infos.get(), "eigenvalues");
  return {std::move(values), std::move(vectors)};
}

// ---- The exponential

TensorPtr matrix_exp(Tensor* A) {
  const char* op = "linalg.matrix_exp";
  check_square(op, A);
  check_float(op, A);
  TensorPtr result = empty(A->sizes(), compute_type(A->dtype), A->device);
  copy_into(A, result.get());
  check_lapack_type("matrix_exp", result->dtype);
  {
    WithoutLock unlocked(work_on(A, 20 * rows_of(A)));
    on(A->device).linalg.matrix_exp(result->view());
  }
  return cast(result.get(), A->dtype);
}

}  // namespace adjoint::ops
