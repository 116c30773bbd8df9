// cuSOLVER's dense routines and those of cuBLAS for many small matrices: our declarations of what is used of them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/api/cublas.h"

namespace adjoint::cuda::cusolver {

inline constexpr LibraryFile kFiles[] = {{13, "libcusolver.so.12"}, {12, "libcusolver.so.11"}};

using Handle = struct CusolverHandle*;
using EigenOptions = struct CusolverEigenOptions*;        ///< when Jacobi's method stops, for eigenvalues ...
using SingularOptions = struct CusolverSingularOptions*;  ///< ... and for singular values
using Parameters = struct CusolverParameters*;            ///< which algorithm is meant

// See Note [Declarations] in cuda/library.h.
// clang-format off: tables
#define ADJOINT_EACH_CUSOLVER_NUMBER(X)                                                                                \
  X(kAdjoint, CUBLAS_OP_C, 2)                                                                                        \
  X(kLower, CUBLAS_FILL_MODE_LOWER, 0)                                                                               \
  X(kUpper, CUBLAS_FILL_MODE_UPPER, 1)                                                                               \
  X(kLeft, CUBLAS_SIDE_LEFT, 0)                                                                                      \
  X(kRight, CUBLAS_SIDE_RIGHT, 1)                                                                                    \
  X(kAnyDiagonal, CUBLAS_DIAG_NON_UNIT, 0)                                                                           \
  X(kUnitDiagonal, CUBLAS_DIAG_UNIT, 1)                                                                              \
  X(kNoVectors, CUSOLVER_EIG_MODE_NOVECTOR, 0)                                                                       \
  X(kVectors, CUSOLVER_EIG_MODE_VECTOR, 1)                                                                           \
  X(kDone, CUSOLVER_STATUS_SUCCESS, 0)                                                                               \
  X(kNoMemory, CUSOLVER_STATUS_ALLOC_FAILED, 2)                                                                      \
  X(kWrongValue, CUSOLVER_STATUS_INVALID_VALUE, 3)                                                                   \
  X(kKernelFailed, CUSOLVER_STATUS_EXECUTION_FAILED, 6)

// X(our name, NVIDIA's for real types, NVIDIA's for complex types, parameters); before NVIDIA's names come cusolverDn
// or cublas and the letter of the type. Elements are untyped, so that one table serves all types. 

#define ADJOINT_CUSOLVER_TYPED(X)                                                                                    \
  X(potrf_size, potrf_bufferSize, potrf_bufferSize, (Handle, int, int, void*, int, int*))                      \
  X(potrf, potrf, potrf, (Handle, int, int, void*, int, void*, int, int*))                                     \
  X(potrf_batched, potrfBatched, potrfBatched, (Handle, int, int, void**, int, int*, int))                     \
  X(getrf_size, getrf_bufferSize, getrf_bufferSize, (Handle, int, int, void*, int, int*))                      \
  X(getrf, getrf, getrf, (Handle, int, int, void*, int, void*, int*, int*))                                    \
  X(getrs, getrs, getrs, (Handle, int, int, int, const void*, int, const int*, void*, int, int*))              \
  X(sytrf_size, sytrf_bufferSize, sytrf_bufferSize, (Handle, int, void*, int, int*))                           \
  X(sytrf, sytrf, sytrf, (Handle, int, int, void*, int, int*, void*, int, int*))                               \
  X(geqrf_size, geqrf_bufferSize, geqrf_bufferSize, (Handle, int, int, void*, int, int*))                      \
  X(geqrf, geqrf, geqrf, (Handle, int, int, void*, int, void*, void*, int, int*))                              \
  X(orgqr_size, orgqr_bufferSize, ungqr_bufferSize,                                                                  \
    (Handle, int, int, int, const void*, int, const void*, int*))                                              \
  X(orgqr, orgqr, ungqr, (Handle, int, int, int, void*, int, const void*, void*, int, int*))                   \
  X(ormqr_size, ormqr_bufferSize, unmqr_bufferSize,                                                                  \
    (Handle, int, int, int, int, int, const void*, int, const void*, const void*, int, int*))                  \
  X(ormqr, ormqr, unmqr,                                                                                             \
    (Handle, int, int, int, int, int, const void*, int, const void*, void*, int, void*, int, int*))            \
  X(syevd_size, syevd_bufferSize, heevd_bufferSize,                                                                  \
    (Handle, int, int, int, const void*, int, const void*, int*))                                              \
  X(syevd, syevd, heevd, (Handle, int, int, int, void*, int, void*, void*, int, int*))                         \
  X(syevj_batched_size, syevjBatched_bufferSize, heevjBatched_bufferSize,                                            \
    (Handle, int, int, int, const void*, int, const void*, int*, EigenOptions, int))                          \
  X(syevj_batched, syevjBatched, heevjBatched,                                                                       \
    (Handle, int, int, int, void*, int, void*, void*, int, int*, EigenOptions, int))                          \
  X(gesvd_size, gesvd_bufferSize, gesvd_bufferSize, (Handle, int, int, int*))                                  \
  X(gesvd, gesvd, gesvd,                                                                                             \
    (Handle, signed char, signed char, int, int, void*, int, void*, void*, int, void*, int, void*, int, void*, \
     int*))                                                                                                          \
  X(gesvdj_size, gesvdj_bufferSize, gesvdj_bufferSize,                                                               \
    (Handle, int, int, int, int, const void*, int, const void*, const void*, int, const void*, int, int*,      \
     SingularOptions))                                                                                                 \
  X(gesvdj, gesvdj, gesvdj,                                                                                          \
    (Handle, int, int, int, int, void*, int, void*, void*, int, void*, int, void*, int, int*, SingularOptions))  \
  X(gesvdj_batched_size, gesvdjBatched_bufferSize, gesvdjBatched_bufferSize,                                         \
    (Handle, int, int, int, const void*, int, const void*, const void*, int, const void*, int, int*,           \
     SingularOptions, int))                                                                                            \
  X(gesvdj_batched, gesvdjBatched, gesvdjBatched,                                                                    \
    (Handle, int, int, int, void*, int, void*, void*, int, void*, int, void*, int, int*, SingularOptions, int))

#define ADJOINT_CUBLAS_TYPED(X)                                                                                    \
  X(getrf_batched, getrfBatched, getrfBatched, (cublas::Handle, int, void* const*, int, int*, int*, int))              \
  X(getrs_batched, getrsBatched, getrsBatched,                                                                     \
    (cublas::Handle, int, int, int, const void* const*, int, const int*, void* const*, int, int*, int))                \
  X(geqrf_batched, geqrfBatched, geqrfBatched, (cublas::Handle, int, int, void* const*, int, void* const*, int*, int)) \
  X(trsm, trsm_v2, trsm_v2, (cublas::Handle, int, int, int, int, int, int, const void*, const void*, int, void*, int)) \
  X(trsm_batched, trsmBatched, trsmBatched,                                                                        \
    (cublas::Handle, int, int, int, int, int, int, const void*, const void* const*, int, void* const*, int, int))

// X(our name, NVIDIA's, parameters)
#define ADJOINT_CUSOLVER_PLAIN(X)                                                                                  \
  X(create, cusolverDnCreate, (Handle*))                                                                     \
  X(set_stream, cusolverDnSetStream, (Handle, Stream))                                                       \
  X(create_syevj, cusolverDnCreateSyevjInfo, (EigenOptions*))                                                     \
  X(create_gesvdj, cusolverDnCreateGesvdjInfo, (SingularOptions*))                                                   \
  X(sytrs_size, cusolverDnXsytrs_bufferSize,                                                                       \
    (Handle, int, int64_t, int64_t, int, const void*, int64_t, const int64_t*, int, void*, int64_t, size_t*, \
     size_t*))                                                                                                     \
  X(sytrs, cusolverDnXsytrs,                                                                                       \
    (Handle, int, int64_t, int64_t, int, const void*, int64_t, const int64_t*, int, void*, int64_t, void*,   \
     size_t, void*, size_t, int*))

// Since CUDA 12.6: without them, general eigenvalues are the CPU's.
#define ADJOINT_CUSOLVER_NEWER(X)                                                                                      \
  X(create_options, cusolverDnCreateParams, (Parameters*))                                                          \
  X(geev_size, cusolverDnXgeev_bufferSize,                                                                             \
    (Handle, Parameters, int, int, int64_t, int, const void*, int64_t, int, const void*, int, const void*,    \
     int64_t, int, const void*, int64_t, int, size_t*, size_t*))                                                       \
  X(geev, cusolverDnXgeev,                                                                                             \
    (Handle, Parameters, int, int, int64_t, int, void*, int64_t, int, void*, int, void*, int64_t, int, void*, \
     int64_t, int, void*, size_t, void*, size_t, int*))

// clang-format on

/// The routines of one type.
struct TypedRoutines {
#define ADJOINT_ROUTINE(name, real, complex, parameters) int(*name) parameters;
  ADJOINT_CUSOLVER_TYPED(ADJOINT_ROUTINE)
  ADJOINT_CUBLAS_TYPED(ADJOINT_ROUTINE)
#undef ADJOINT_ROUTINE
};

/// Those that are told the type.
struct CommonRoutines {
#define ADJOINT_ROUTINE(name, nvidia, parameters) int(*name) parameters;
  ADJOINT_CUSOLVER_PLAIN(ADJOINT_ROUTINE)
  ADJOINT_CUSOLVER_NEWER(ADJOINT_ROUTINE)
#undef ADJOINT_ROUTINE
};
ADJOINT_EACH_CUSOLVER_NUMBER(ADJOINT_DECLARE_NUMBER)

}  // namespace adjoint::cuda::cusolver
