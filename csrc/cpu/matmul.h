// The CPU's matrix products: own kernels for small ones, OpenBLAS for the rest.
#pragma once

#include "kernels/matmul.h"

namespace adjoint::cpu {

void gemm(const View& a, const View& b, const View& c, const Scalar& alpha = Scalar::of(int64_t{1}),
          const Scalar& beta = Scalar::of(int64_t{0}));
void gemm_plus(const View& a, const View& b, const View& added, const View& c, const Scalar& alpha, const Scalar& beta);
void bmm(const View& a, const View& b, const View& c, const Scalar& alpha = Scalar::of(int64_t{1}),
         const Scalar& beta = Scalar::of(int64_t{0}));
void sum_bmm(const View& a, const View& b, const View& c, const Scalar& alpha, const Scalar& beta);
void conjugate(const View& values);

}  // namespace adjoint::cpu
