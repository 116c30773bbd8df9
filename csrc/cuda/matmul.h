// Matrix products on a device; kernels/matmul.h says what each function does.
#pragma once

#include "core/scalar.h"
#include "core/view.h"

namespace adjoint::cuda {

void gemm(const View& a, const View& b, const View& c, const Scalar& alpha, const Scalar& beta);
void gemm_plus(const View& a, const View& b, const View& added, const View& c, const Scalar& alpha, const Scalar& beta);
bool gemm_plus_relu(const View& a, const View& b, const View& added, const View& c);
void bmm(const View& a, const View& b, const View& c, const Scalar& alpha, const Scalar& beta);
void sum_bmm(const View& a, const View& b, const View& c, const Scalar& alpha, const Scalar& beta);
void conjugate(const View& values);

}  // namespace adjoint::cuda
