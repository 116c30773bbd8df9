// Matrix products of strided views.
#pragma once

#include "core/scalar.h"
#include "kernels/view.h"

namespace adjoint::kernels {

struct Matmul {
  /// c = alpha * (a @ b) + beta * c for matrices a: m x k, b: k x n, c: m x n of one type, any strides. c is not read
  /// when beta is 0, and must not overlap a or b. A vector is a matrix with one row or column; a dot product is 1 x k
  /// times k x 1. Half-precision sums are kept in float32 and rounded once; integers wrap.
  void (*gemm)(const View& a, const View& b, const View& c, const Scalar& alpha, const Scalar& beta);
  /// The same for each entry of the first dimension of three-dimensional views, whose batch strides may be 0.
  void (*bmm)(const View& a, const View& b, const View& c, const Scalar& alpha, const Scalar& beta);
};

}  // namespace adjoint::kernels
