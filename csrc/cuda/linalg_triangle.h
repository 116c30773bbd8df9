// Equations with triangular matrices, which other solvers end with.
#pragma once

#include "cuda/linalg_batch.h"

namespace adjoint::cuda {

/// op(A) X = B, or X op(A) = B, in place of B, for triangles by NVIDIA's numbers.
void solve_triangles(const View& x, Columns& factors, int uplo, int turned, bool left, bool unit);

}  // namespace adjoint::cuda
