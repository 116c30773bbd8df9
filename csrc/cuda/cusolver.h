// cuSOLVER's dense routines and those of cuBLAS for many small matrices: our declarations of what is used of them,
// found when linear algebra first needs them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/view.h"
#include "cuda/driver.h"

namespace adjoint::cuda {

using SolverHandle = struct CusolverHandle*;
using SolverOptions = struct CusolverOptions*;  ///< how Jacobi's method stops, or which algorithm is meant
using BlasHandle = struct CublasHandle*;

// Numbers of NVIDIA's enumerations.
namespace nv {
inline constexpr int kPlain = 0, kTransposed = 1, kAdjoint = 2;
inline constexpr int kLower = 0, kUpper = 1;
inline constexpr int kLeft = 0, kRight = 1;
inline constexpr int kAnyDiagonal = 0, kUnitDiagonal = 1;
inline constexpr int kNoVectors = 0, kVectors = 1;
inline constexpr int kReal32 = 0, kReal64 = 1, kComplex32 = 4, kComplex64 = 5;
}  // namespace nv

// X(our name, NVIDIA's for real types, NVIDIA's for complex types, parameters); before NVIDIA's names come cusolverDn
// or cublas and the letter of the type. Elements are untyped, so that one table serves all types. `python -m
// tests.cuda.headers` compares these lists with NVIDIA's headers.

#define ADJOINT_CUSOLVER_TYPED(X)                                                                                    \
  X(potrf_size, potrf_bufferSize, potrf_bufferSize, (SolverHandle, int, int, void*, int, int*))                      \
  X(potrf, potrf, potrf, (SolverHandle, int, int, void*, int, void*, int, int*))                                     \
  X(potrf_batched, potrfBatched, potrfBatched, (SolverHandle, int, int, void**, int, int*, int))                     \
  X(getrf_size, getrf_bufferSize, getrf_bufferSize, (SolverHandle, int, int, void*, int, int*))                      \
  X(getrf, getrf, getrf, (SolverHandle, int, int, void*, int, void*, int*, int*))                                    \
  X(getrs, getrs, getrs, (SolverHandle, int, int, int, const void*, int, const int*, void*, int, int*))              \
  X(sytrf_size, sytrf_bufferSize, sytrf_bufferSize, (SolverHandle, int, void*, int, int*))                           \
  X(sytrf, sytrf, sytrf, (SolverHandle, int, int, void*, int, int*, void*, int, int*))                               \
  X(geqrf_size, geqrf_bufferSize, geqrf_bufferSize, (SolverHandle, int, int, void*, int, int*))                      \
  X(geqrf, geqrf, geqrf, (SolverHandle, int, int, void*, int, void*, void*, int, int*))                              \
  X(orgqr_size, orgqr_bufferSize, ungqr_bufferSize,                                                                  \
    (SolverHandle, int, int, int, const void*, int, const void*, int*))                                              \
  X(orgqr, orgqr, ungqr, (SolverHandle, int, int, int, void*, int, const void*, void*, int, int*))                   \
  X(ormqr_size, ormqr_bufferSize, unmqr_bufferSize,                                                                  \
    (SolverHandle, int, int, int, int, int, const void*, int, const void*, const void*, int, int*))                  \
  X(ormqr, ormqr, unmqr,                                                                                             \
    (SolverHandle, int, int, int, int, int, const void*, int, const void*, void*, int, void*, int, int*))            \
  X(syevd_size, syevd_bufferSize, heevd_bufferSize,                                                                  \
    (SolverHandle, int, int, int, const void*, int, const void*, int*))                                              \
  X(syevd, syevd, heevd, (SolverHandle, int, int, int, void*, int, void*, void*, int, int*))                         \
  X(syevj_batched_size, syevjBatched_bufferSize, heevjBatched_bufferSize,                                            \
    (SolverHandle, int, int, int, const void*, int, const void*, int*, SolverOptions, int))                          \
  X(syevj_batched, syevjBatched, heevjBatched,                                                                       \
    (SolverHandle, int, int, int, void*, int, void*, void*, int, int*, SolverOptions, int))                          \
  X(gesvd_size, gesvd_bufferSize, gesvd_bufferSize, (SolverHandle, int, int, int*))                                  \
  X(gesvd, gesvd, gesvd,                                                                                             \
    (SolverHandle, signed char, signed char, int, int, void*, int, void*, void*, int, void*, int, void*, int, void*, \
     int*))                                                                                                          \
  X(gesvdj_size, gesvdj_bufferSize, gesvdj_bufferSize,                                                               \
    (SolverHandle, int, int, int, int, const void*, int, const void*, const void*, int, const void*, int, int*,      \
     SolverOptions))                                                                                                 \
  X(gesvdj, gesvdj, gesvdj,                                                                                          \
    (SolverHandle, int, int, int, int, void*, int, void*, void*, int, void*, int, void*, int, int*, SolverOptions))  \
  X(gesvdj_batched_size, gesvdjBatched_bufferSize, gesvdjBatched_bufferSize,                                         \
    (SolverHandle, int, int, int, const void*, int, const void*, const void*, int, const void*, int, int*,           \
     SolverOptions, int))                                                                                            \
  X(gesvdj_batched, gesvdjBatched, gesvdjBatched,                                                                    \
    (SolverHandle, int, int, int, void*, int, void*, void*, int, void*, int, void*, int, int*, SolverOptions, int))

#define ADJOINT_CUBLAS_TYPED(X)                                                                                    \
  X(getrf_batched, getrfBatched, getrfBatched, (BlasHandle, int, void* const*, int, int*, int*, int))              \
  X(getrs_batched, getrsBatched, getrsBatched,                                                                     \
    (BlasHandle, int, int, int, const void* const*, int, const int*, void* const*, int, int*, int))                \
  X(geqrf_batched, geqrfBatched, geqrfBatched, (BlasHandle, int, int, void* const*, int, void* const*, int*, int)) \
  X(trsm, trsm_v2, trsm_v2, (BlasHandle, int, int, int, int, int, int, const void*, const void*, int, void*, int)) \
  X(trsm_batched, trsmBatched, trsmBatched,                                                                        \
    (BlasHandle, int, int, int, int, int, int, const void*, const void* const*, int, void* const*, int, int))

// X(our name, NVIDIA's, parameters)
#define ADJOINT_CUSOLVER_PLAIN(X)                                                                                  \
  X(create, cusolverDnCreate, (SolverHandle*))                                                                     \
  X(set_stream, cusolverDnSetStream, (SolverHandle, Stream))                                                       \
  X(create_syevj, cusolverDnCreateSyevjInfo, (SolverOptions*))                                                     \
  X(create_gesvdj, cusolverDnCreateGesvdjInfo, (SolverOptions*))                                                   \
  X(sytrs_size, cusolverDnXsytrs_bufferSize,                                                                       \
    (SolverHandle, int, int64_t, int64_t, int, const void*, int64_t, const int64_t*, int, void*, int64_t, size_t*, \
     size_t*))                                                                                                     \
  X(sytrs, cusolverDnXsytrs,                                                                                       \
    (SolverHandle, int, int64_t, int64_t, int, const void*, int64_t, const int64_t*, int, void*, int64_t, void*,   \
     size_t, void*, size_t, int*))

// Since CUDA 12.6: without them, general eigenvalues are the CPU's.
#define ADJOINT_CUSOLVER_NEWER(X)                                                                                      \
  X(create_options, cusolverDnCreateParams, (SolverOptions*))                                                          \
  X(geev_size, cusolverDnXgeev_bufferSize,                                                                             \
    (SolverHandle, SolverOptions, int, int, int64_t, int, const void*, int64_t, int, const void*, int, const void*,    \
     int64_t, int, const void*, int64_t, int, size_t*, size_t*))                                                       \
  X(geev, cusolverDnXgeev,                                                                                             \
    (SolverHandle, SolverOptions, int, int, int64_t, int, void*, int64_t, int, void*, int, void*, int64_t, int, void*, \
     int64_t, int, void*, size_t, void*, size_t, int*))

/// The routines of one type.
struct SolverRoutines {
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

/// Whether both libraries are there. Warns once where they are not, of what to install.
bool has_cusolver();
/// Whether the library has eigenvalues of general matrices.
bool has_general_eigenvalues();

/// The routines for a type and what they are given, on the device's current stream, for this thread.
struct Solver {
  const SolverRoutines& of;
  const CommonRoutines& common;
  SolverHandle handle;
  BlasHandle blas;
  SolverOptions syevj, gesvdj, options;
  int type;  ///< NVIDIA's number of it
  bool is_complex;
  Device device;

  /// Fails where a status says so; `what` was being done.
  void check(int status, const char* what) const;
};
Solver solver_for(Device device, DType dtype);

}  // namespace adjoint::cuda
