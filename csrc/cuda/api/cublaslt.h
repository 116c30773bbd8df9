// cuBLASLt: our declarations of what is used of it. It lies beside cuBLAS, whose numbers of types it shares.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/driver.h"
#include "cuda/library.h"

namespace adjoint::cuda::cublaslt {

inline constexpr LibraryFile kFiles[] = {{13, "libcublasLt.so.13"}, {12, "libcublasLt.so.12"}};

using Handle = struct CublasLtHandle*;
using Operation = struct CublasLtOperation*;
using Layout = struct CublasLtLayout*;
using Preference = struct CublasLtPreference*;

/// A way to compute, which only cuBLASLt reads.
struct Algorithm {
  uint64_t data[8];
};
/// A way that it proposes.
struct Proposal {
  Algorithm algorithm;
  size_t workspace;  ///< bytes that it needs
  int status;        ///< of the proposal: the rest is set where it is kOk
  float waves;       ///< how much of the device it fills
  int reserved[4];
};

// See Note [Declarations] in cuda/library.h.
// clang-format off: tables
#define ADJOINT_EACH_CUBLASLT_FUNCTION(X)                                                                            \
  X(create, cublasLtCreate, int, (Handle*))                                                                          \
  X(create_operation, cublasLtMatmulDescCreate, int, (Operation*, int, int))                                         \
  X(set_operation, cublasLtMatmulDescSetAttribute, int, (Operation, int, const void*, size_t))                       \
  X(destroy_operation, cublasLtMatmulDescDestroy, int, (Operation))                                                  \
  X(create_layout, cublasLtMatrixLayoutCreate, int, (Layout*, int, uint64_t, uint64_t, int64_t))                     \
  X(destroy_layout, cublasLtMatrixLayoutDestroy, int, (Layout))                                                      \
  X(create_preference, cublasLtMatmulPreferenceCreate, int, (Preference*))                                           \
  X(set_preference, cublasLtMatmulPreferenceSetAttribute, int, (Preference, int, const void*, size_t))               \
  X(destroy_preference, cublasLtMatmulPreferenceDestroy, int, (Preference))                                          \
  X(propose, cublasLtMatmulAlgoGetHeuristic, int,                                                                    \
    (Handle, Operation, Layout, Layout, Layout, Layout, Preference, int, Proposal*, int*))                           \
  X(read_algorithm, cublasLtMatmulAlgoConfigGetAttribute, int, (const Algorithm*, int, void*, size_t, size_t*))         \
  X(multiply, cublasLtMatmul, int,                                                                                   \
    (Handle, Operation, const void*, const void*, Layout, const void*, Layout, const void*, const void*, Layout,     \
     void*, Layout, const Algorithm*, void*, size_t, Stream))
#define ADJOINT_EACH_CUBLASLT_NUMBER(X)                                                                              \
  X(kTransposeA, CUBLASLT_MATMUL_DESC_TRANSA, 3)                                                                     \
  X(kTransposeB, CUBLASLT_MATMUL_DESC_TRANSB, 4)                                                                     \
  X(kEpilogue, CUBLASLT_MATMUL_DESC_EPILOGUE, 7)                                                                     \
  X(kBiasPointer, CUBLASLT_MATMUL_DESC_BIAS_POINTER, 8)                                                              \
  X(kAddBias, CUBLASLT_EPILOGUE_BIAS, 4)                                                                             \
  X(kAddBiasThenRelu, CUBLASLT_EPILOGUE_RELU_BIAS, 6)                                                                \
  X(kMostWorkspace, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 1)                                                     \
  X(kReductions, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, 3)                                                      \
  X(kAlignmentA, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, 5)                                                      \
  X(kAlignmentB, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, 6)                                                      \
  X(kAlignmentC, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, 7)                                                      \
  X(kAlignmentD, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, 8)                                                      \
  X(kReduceInComputeType, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, 2)                                                 \
  X(kSplits, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, 2)
// clang-format on

ADJOINT_DECLARE_FUNCTIONS(Functions, ADJOINT_EACH_CUBLASLT_FUNCTION);
ADJOINT_EACH_CUBLASLT_NUMBER(ADJOINT_DECLARE_NUMBER)

}  // namespace adjoint::cuda::cublaslt
