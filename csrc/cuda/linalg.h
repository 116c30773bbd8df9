// Linear algebra on a device, in linalg_{parts,factor,solve,lstsq,svd,spectral,exp}.cpp; kernels/linalg.h says what is
// computed.
#pragma once

#include "kernels/linalg.h"

namespace adjoint::cuda {

using kernels::LinalgFailure;
using kernels::LstsqDriver;
using kernels::PivotFault;
using kernels::SvdVectors;

void cholesky(const View& a, const View& infos, bool upper);
void lu_factor(const View& a, const View& pivots, const View& infos);
void ldl_factor(const View& a, const View& pivots, const View& infos, bool hermitian);
void geqrf(const View& a, const View& tau);
void orgqr(const View& a, const View& tau);
void ormqr(const View& a, const View& tau, const View& c, bool left, bool transpose);

void upper_triangle(const View& in, const View& out);
void unit_lower_triangle(const View& in, const View& out);
void permutation(const View& pivots, const View& out);
LinalgFailure first_failure(const View& infos);
PivotFault lu_pivot_fault(const View& pivots, int64_t rows);
PivotFault ldl_pivot_fault(const View& pivots, int64_t rows);
bool has_nonfinite(const View& in);
void det(const View& lu, const View& pivots, const View& out);
void slogdet(const View& lu, const View& pivots, const View& signs, const View& logs);

void lu_solve(const View& lu, const View& pivots, const View& x, bool left, bool adjoint);
void triangular_solve(const View& a, const View& x, bool upper, bool left, bool unit);
void cholesky_solve(const View& factor, const View& x, bool upper);
void ldl_solve(const View& factor, const View& pivots, const View& x, bool hermitian);
void inverse(const View& a, const View& out, const View& infos);
void cholesky_inverse(const View& a, const View& infos, bool upper);
bool lstsq(LstsqDriver driver, const View& a, const View& x, const View& residuals, const View& ranks,
           const View& values, const View& infos, double rcond);

void svd(const View& a, const View& u, const View& s, const View& vh, const View& infos, SvdVectors vectors);
void eigh(const View& a, const View& values, const View& infos, bool upper, bool with_vectors);
void eig(const View& a, const View& values, const View& vectors, const View& infos, bool with_vectors);
void matrix_exp(const View& a);

/// Names all of them in the table.
void set_linalg(kernels::Linalg& table);

}  // namespace adjoint::cuda
