// Linear algebra by LAPACK, on batches of matrices. Results lie column by column, as LAPACK leaves them.
#pragma once

#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/ints.h"
#include "core/tensor.h"

namespace adjoint::ops {

using TensorPair = std::pair<TensorPtr, TensorPtr>;
using TensorTriple = std::tuple<TensorPtr, TensorPtr, TensorPtr>;
using TensorList = std::vector<TensorPtr>;

// ---- Factorisations. `info` is LAPACK's per matrix; with `check_errors` one that is not 0 raises.

/// The triangular factor, and info.
TensorPair linalg_cholesky_ex(Tensor* A, bool upper, bool check_errors);
TensorPtr cholesky(Tensor* input, bool upper);
/// The packed factors, pivots (from 1) and info.
TensorTriple linalg_lu_factor_ex(Tensor* A, bool pivot, bool check_errors);
/// Permutation, lower and upper factor; parts that are not wanted have no elements.
TensorTriple lu_unpack(Tensor* LU_data, Tensor* LU_pivots, bool unpack_data, bool unpack_pivots);
TensorTriple linalg_lu(Tensor* A, bool pivot);
TensorTriple linalg_ldl_factor_ex(Tensor* A, bool hermitian, bool check_errors);
/// "reduced", "complete", or "r" (Q has no elements).
TensorPair linalg_qr(Tensor* A, const std::string& mode);
/// Reflectors below the diagonal with R above, and their factors.
TensorPair geqrf(Tensor* input);
/// The first columns of the product of reflectors (`tensors` are they and their factors), and that product applied to
/// matrices.
TensorPtr householder_product(const std::vector<Tensor*>& tensors);
TensorPtr ormqr(Tensor* input, Tensor* tau, Tensor* other, bool left, bool transpose);

// ---- Equations

/// `tensors` are A and B. Solution, packed LU factors, pivots and info. B may be a vector for each matrix.
TensorList linalg_solve_ex(const std::vector<Tensor*>& tensors, bool left, bool check_errors);
TensorPtr linalg_lu_solve(Tensor* LU, Tensor* pivots, Tensor* B, bool left, bool adjoint);
TensorPtr linalg_solve_triangular(const std::vector<Tensor*>& tensors, bool upper, bool left, bool unitriangular);
TensorPtr cholesky_solve(Tensor* B, Tensor* L, bool upper);
TensorPtr cholesky_inverse(Tensor* L, bool upper);
TensorPtr linalg_ldl_solve(Tensor* LD, Tensor* pivots, Tensor* B, bool hermitian);
TensorPair linalg_inv_ex(Tensor* A, bool check_errors);
/// Determinant, LU factors, pivots; sign, logarithm of the absolute value, LU factors, pivots.
TensorTriple linalg_det(Tensor* A);
TensorList linalg_slogdet(Tensor* A);
/// Solution, residuals, rank and singular values, as far as the driver ("gels", "gelsy", "gelsd", "gelss") has them.
TensorList linalg_lstsq(const std::vector<Tensor*>& tensors, std::optional<double> rcond, const std::string& driver);

// ---- Spectra

/// U, S and V^H; U and V^H have no elements without `compute_uv`.
TensorTriple linalg_svd(Tensor* A, bool full_matrices, bool compute_uv);
/// Eigenvalues and vectors (no elements without `compute_v`) of Hermitian matrices, of which one triangle is read.
TensorPair linalg_eigh(Tensor* A, const std::string& UPLO, bool compute_v);
TensorPair linalg_eig(Tensor* A, bool compute_v);

TensorPtr matrix_exp(Tensor* A);

}  // namespace adjoint::ops
