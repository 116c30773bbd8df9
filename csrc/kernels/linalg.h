// Linear algebra on batches of matrices: the last two dimensions are a matrix, those before them the batch.
#pragma once

#include <cstdint>

#include "core/view.h"

namespace adjoint::kernels {

/// The first matrix of a batch that an algorithm gave up, and its code; -1 where there is none.
struct LinalgFailure {
  int64_t matrix = -1;
  int32_t code = 0;
};

/// What is wrong with the first row swap that leads out of its matrix.
enum class PivotFault { None, TooSmall, TooLarge, Unpaired };

enum class LstsqDriver { Gels, Gelsy, Gelsd, Gelss };

/// Which singular vectors are wanted.
enum class SvdVectors { None, Reduced, Full };

/// Matrices that are changed in place lie column by column, each packed; so do results. What is only read may have any
/// strides, where nothing else is said. Vectors (one for each matrix) and numbers (likewise) that are written are
/// packed. `pivots` are Int32 row swaps, from 1; `infos` are Int32 and LAPACK's, 0 where all went well.
struct Linalg {
  // ---- Factors, in place of the matrices

  /// The lower (upper) factor, with zeros in the other triangle.
  void (*cholesky)(const View& a, const View& infos, bool upper);
  /// Both factors in one matrix.
  void (*lu_factor)(const View& a, const View& pivots, const View& infos);
  /// The lower triangle is read; the upper one gets zeros.
  void (*ldl_factor)(const View& a, const View& pivots, const View& infos, bool hermitian);
  /// Reflectors below the diagonal with R above, and the factors of the reflectors.
  void (*geqrf)(const View& a, const View& tau);
  /// The product of reflectors, of which there are as many as factors; columns beyond get those that follow.
  void (*orgqr)(const View& a, const View& tau);
  /// c = Q c, or c Q from the right, for the product Q of reflectors, or for its conjugate transpose.
  void (*ormqr)(const View& a, const View& tau, const View& c, bool left, bool transpose);

  // ---- Parts of factors. Results are packed, row by row; triangles may lie column by column too.

  /// out is as high or wide as the triangle needs; 0 in the other one, and 1 on the diagonal of the lower one.
  void (*upper_triangle)(const View& in, const View& out);
  void (*unit_lower_triangle)(const View& in, const View& out);
  /// The matrices of packed row swaps, row by row.
  void (*permutation)(const View& pivots, const View& out);

  // ---- Answers to the host

  LinalgFailure (*first_failure)(const View& infos);
  /// Whether packed pivots can be followed in matrices of so many rows.
  PivotFault (*lu_pivot_fault)(const View& pivots, int64_t rows);
  PivotFault (*ldl_pivot_fault)(const View& pivots, int64_t rows);
  /// Whether elements that lie without gaps have inf or nan among them.
  bool (*has_nonfinite)(const View& in);

  // ---- Equations, solved in place of the right-hand sides x. The batches are those of x.

  /// op(A) X = B; from the right, x is the transpose of X in X op(A) = B.
  void (*lu_solve)(const View& lu, const View& pivots, const View& x, bool left, bool adjoint);
  void (*triangular_solve)(const View& a, const View& x, bool upper, bool left, bool unit);
  void (*cholesky_solve)(const View& factor, const View& x, bool upper);
  void (*ldl_solve)(const View& factor, const View& pivots, const View& x, bool hermitian);
  /// out = A^-1; that of a matrix without one is not meant to be read.
  void (*inverse)(const View& a, const View& out, const View& infos);
  /// A^-1 in place of a factor of A.
  void (*cholesky_inverse)(const View& a, const View& infos, bool upper);
  /// From what lu_factor gives, pivots packed.
  void (*det)(const View& lu, const View& pivots, const View& out);
  void (*slogdet)(const View& lu, const View& pivots, const View& signs, const View& logs);
  /// `a` is overwritten. x has as many rows as the higher of B and the solution; both begin at its first row. `ranks`
  /// (Int64) and `values` are written by the drivers that have them, residuals where A has more rows than columns.
  /// Whether some matrix lacks full rank, as far as the driver can say.
  bool (*lstsq)(LstsqDriver driver, const View& a, const View& x, const View& residuals, const View& ranks,
                const View& values, const View& infos, double rcond);

  // ---- Spectra

  /// `a` is overwritten; u and vh are not touched where no vectors are wanted.
  void (*svd)(const View& a, const View& u, const View& s, const View& vh, const View& infos, SvdVectors vectors);
  /// Vectors in place of the Hermitian matrices, of which one triangle is read.
  void (*eigh)(const View& a, const View& values, const View& infos, bool upper, bool with_vectors);
  /// `a` is overwritten and finite; values and vectors are complex.
  void (*eig)(const View& a, const View& values, const View& vectors, const View& infos, bool with_vectors);
  /// In place; packed row by row.
  void (*matrix_exp)(const View& a);
};

}  // namespace adjoint::kernels
