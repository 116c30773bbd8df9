// Matrix products of strided views.
#pragma once

#include "core/scalar.h"
#include "core/view.h"

namespace adjoint::kernels {

struct Matmul {
  using Product = void(const View& a, const View& b, const View& c, const Scalar& alpha, const Scalar& beta);

  /// c = alpha * (a @ b) + beta * c for matrices a: m x k, b: k x n, c: m x n of one type, any strides. c is not read
  /// when beta is 0, and must not overlap a or b. A vector is a matrix with one row or column; a dot product is 1 x k
  /// times k x 1. Half-precision sums are kept in float32 and rounded once; integers wrap.
  Product* gemm;
  /// c = alpha * (a @ b) + beta * added, whose strides may be 0: a layer and its bias.
  void (*gemm_plus)(const View& a, const View& b, const View& added, const View& c, const Scalar& alpha,
                    const Scalar& beta);
  /// c = max(a @ b + added, 0), as relu has it, in one launch. False, and nothing done, where a device has no such.
  bool (*gemm_plus_relu)(const View& a, const View& b, const View& added, const View& c);
  /// gemm for each entry of the first dimension of three-dimensional views, whose batch strides may be 0.
  Product* bmm;
  /// The products of two batches added up: c = alpha * (the sum of all a @ b) + beta * c, for one matrix c.
  Product* sum_bmm;
  /// Complex numbers that lie one after the other become their conjugates.
  void (*conjugate)(const View& values);
};

}  // namespace adjoint::kernels
