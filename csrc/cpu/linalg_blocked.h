// LU and Cholesky factors of one large matrix by blocks: the products between them run on all threads.
#pragma once

#include "cpu/linalg_batch.h"

namespace adjoint::cpu {

/// As LAPACK's getrf, for a column-major matrix; returns its info.
template <class T>
Int factor_lu_blocked(Int m, Int n, T* a, Int lda, Int* pivots);

/// As LAPACK's potrf for the lower triangle; `work` has room for n by kFactorBlock elements.
template <class T>
Int factor_cholesky_blocked(Int n, T* a, Int lda, T* work);

/// Columns of a block.
inline constexpr Int kFactorBlock = 128;

/// Whether matrices of this size are factored by blocks, on whatever number of threads.
inline bool worth_blocks(int64_t size) { return size >= 384; }

}  // namespace adjoint::cpu
