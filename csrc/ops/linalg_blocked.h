// LU and Cholesky factors of one large matrix by blocks: the products between them run on all threads.
#pragma once

#include "ops/linalg_batch.h"

namespace adjoint::ops {

/// As LAPACK's getrf, for a column-major matrix; returns its info.
template <class T>
Int factor_lu_blocked(Int m, Int n, T* a, Int lda, Int* pivots);

/// As LAPACK's potrf for the lower triangle.
template <class T>
Int factor_cholesky_blocked(Int n, T* a, Int lda);

/// Whether the factors of `count` matrices of this size are better found one by one, each on all threads.
inline bool worth_blocks(int64_t count, int64_t size) { return size >= 384 && count < num_threads(); }

}  // namespace adjoint::ops
