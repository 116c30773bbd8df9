// Products with a bias in one launch, by cuBLASLt, which is found when one is first needed.
#pragma once

#include "cuda/cublas.h"

namespace adjoint::cuda {

/// Whether cuBLASLt is there, and takes biases of a type.
bool has_cublaslt(DType dtype);
/// Queues c = a @ b + bias for single matrices as cublas_product takes them (alpha and beta are not read), and a vector
/// with an element for each row of c, one after the other. False, and nothing done, where cuBLASLt has
/// no such product or fails: the caller then has another way.
bool cublaslt_biased(Device device, const BlasProduct& product, const char* bias);

}  // namespace adjoint::cuda
