// cuBLAS: our declarations of what is used of it, with sizes of 64 bits, which CUDA 12 and newer have.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/driver.h"
#include "cuda/library.h"

namespace adjoint::cuda::cublas {

inline constexpr LibraryFile kFiles[] = {{13, "libcublas.so.13"}, {12, "libcublas.so.12"}};

using Handle = struct CublasHandle*;

// See Note [Declarations] in cuda/library.h.
// clang-format off: tables
#define ADJOINT_EACH_CUBLAS_FUNCTION(X)                                                                              \
  X(create, cublasCreate_v2, int, (Handle*))                                                                         \
  X(set_stream, cublasSetStream_v2, int, (Handle, Stream))                                                           \
  X(set_workspace, cublasSetWorkspace_v2, int, (Handle, void*, size_t))                                              \
  X(set_math_mode, cublasSetMathMode, int, (Handle, int))                                                            \
  X(status_name, cublasGetStatusName, const char*, (int))                                                            \
  X(gemm, cublasGemmEx_64, int,                                                                                      \
    (Handle, int, int, int64_t, int64_t, int64_t, const void*, const void*, int, int64_t, const void*, int,          \
     int64_t, const void*, void*, int, int64_t, int, int))                                                           \
  X(gemm_batched, cublasGemmStridedBatchedEx_64, int,                                                                \
    (Handle, int, int, int64_t, int64_t, int64_t, const void*, const void*, int, int64_t, long long, const void*,    \
     int, int64_t, long long, const void*, void*, int, int64_t, long long, int64_t, int, int))
#define ADJOINT_EACH_CUBLAS_NUMBER(X)                                                                                \
  X(kOk, CUBLAS_STATUS_SUCCESS, 0)                                                                              \
  X(kPlain, CUBLAS_OP_N, 0)                                                                                          \
  X(kTransposed, CUBLAS_OP_T, 1)                                                                                     \
  X(kReal32, CUDA_R_32F, 0)                                                                                          \
  X(kReal64, CUDA_R_64F, 1)                                                                                          \
  X(kReal16, CUDA_R_16F, 2)                                                                                          \
  X(kComplex32, CUDA_C_32F, 4)                                                                                       \
  X(kComplex64, CUDA_C_64F, 5)                                                                                       \
  X(kBrain16, CUDA_R_16BF, 14)                                                                                       \
  X(kCompute32, CUBLAS_COMPUTE_32F, 68)                                                                              \
  X(kCompute64, CUBLAS_COMPUTE_64F, 70)                                                                              \
  X(kComputeTf32, CUBLAS_COMPUTE_32F_FAST_TF32, 77)                                                                  \
  X(kDefaultAlgorithm, CUBLAS_GEMM_DEFAULT, -1)                                                                      \
  X(kNoReducedSums, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION, 16)
// clang-format on

ADJOINT_DECLARE_FUNCTIONS(Functions, ADJOINT_EACH_CUBLAS_FUNCTION);
ADJOINT_EACH_CUBLAS_NUMBER(ADJOINT_DECLARE_NUMBER)

}  // namespace adjoint::cuda::cublas
