// Products by cuBLASLt, which is found when one is first needed: with a bias, or a bias and relu, in the same launch,
// and others, which take less of the host's time than by cuBLAS, because an algorithm is chosen once.
#pragma once

#include "cuda/cublas.h"

namespace adjoint::cuda {

/// Whether cuBLASLt is there, and takes a type.
bool has_cublaslt(DType dtype);
/// Queues a product of single matrices as cublas_product takes them. With a bias, a vector with an element for each row
/// of c, one after the other, that is added, and alpha is 1 and beta 0; `relu` of the sum may follow. False, and
/// nothing done, where cuBLASLt has no such product or fails: the caller then has another way.
bool cublaslt_product(Device device, const BlasProduct& product, const char* bias = nullptr, bool relu = false);

}  // namespace adjoint::cuda
