// Our declarations of cuSOLVER and cuBLAS beside NVIDIA's: compiled, and never run, by tests/cuda/headers.py.
#include <cublas_v2.h>
#include <cusolverDn.h>

#include <type_traits>

#include "cuda/cusolver.h"

namespace adjoint::cuda {

/// Whether one may be passed for the other: pointers of as many levels, or numbers of one size.
template <class Ours, class Theirs>
constexpr bool passes() {
  if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) {
    using Mine = std::remove_pointer_t<Ours>;
    using Other = std::remove_pointer_t<Theirs>;
    // What is not declared here is opaque on both sides; numbers that are written must have their size.
    if constexpr (std::is_pointer_v<Mine> || std::is_pointer_v<Other>) {
      return std::is_pointer_v<Mine> && std::is_pointer_v<Other>;
    } else if constexpr (std::is_integral_v<Mine> || std::is_integral_v<Other>) {
      return std::is_same_v<std::remove_const_t<Mine>, std::remove_const_t<Other>>;
    } else {
      return true;
    }
  } else {
    constexpr bool numbers =
        (std::is_integral_v<Ours> || std::is_enum_v<Ours>) && (std::is_integral_v<Theirs> || std::is_enum_v<Theirs>);
    return numbers && sizeof(Ours) == sizeof(Theirs);
  }
}

template <class Ours, class Theirs>
inline constexpr bool agree = false;
template <class... Ours, class Status, class... Theirs>
  requires(sizeof...(Ours) == sizeof...(Theirs))
inline constexpr bool agree<int (*)(Ours...), Status (*)(Theirs...)> =
    sizeof(Status) == sizeof(int) && (passes<Ours, Theirs>() && ...);

#define CHECK(member, nvidia) static_assert(agree<decltype(member), decltype(&nvidia)>, #nvidia);
#define TYPED_SOLVER(name, real, complex, parameters) \
  CHECK(SolverRoutines::name, cusolverDnS##real)      \
  CHECK(SolverRoutines::name, cusolverDnD##real)      \
  CHECK(SolverRoutines::name, cusolverDnC##complex)   \
  CHECK(SolverRoutines::name, cusolverDnZ##complex)
ADJOINT_CUSOLVER_TYPED(TYPED_SOLVER)
#define TYPED_BLAS(name, real, complex, parameters) \
  CHECK(SolverRoutines::name, cublasS##real)        \
  CHECK(SolverRoutines::name, cublasD##real)        \
  CHECK(SolverRoutines::name, cublasC##complex)     \
  CHECK(SolverRoutines::name, cublasZ##complex)
ADJOINT_CUBLAS_TYPED(TYPED_BLAS)
#define PLAIN(name, nvidia, parameters) CHECK(CommonRoutines::name, nvidia)
ADJOINT_CUSOLVER_PLAIN(PLAIN)
#if CUSOLVER_VERSION >= 11701  // of CUDA 12.6
ADJOINT_CUSOLVER_NEWER(PLAIN)
#endif

static_assert(nv::kPlain == CUBLAS_OP_N && nv::kTransposed == CUBLAS_OP_T && nv::kAdjoint == CUBLAS_OP_C);
static_assert(nv::kLower == CUBLAS_FILL_MODE_LOWER && nv::kUpper == CUBLAS_FILL_MODE_UPPER);
static_assert(nv::kLeft == CUBLAS_SIDE_LEFT && nv::kRight == CUBLAS_SIDE_RIGHT);
static_assert(nv::kAnyDiagonal == CUBLAS_DIAG_NON_UNIT && nv::kUnitDiagonal == CUBLAS_DIAG_UNIT);
static_assert(nv::kNoVectors == CUSOLVER_EIG_MODE_NOVECTOR && nv::kVectors == CUSOLVER_EIG_MODE_VECTOR);
static_assert(nv::kReal32 == CUDA_R_32F && nv::kReal64 == CUDA_R_64F);
static_assert(nv::kComplex32 == CUDA_C_32F && nv::kComplex64 == CUDA_C_64F);
static_assert(CUSOLVER_STATUS_SUCCESS == 0 && CUSOLVER_STATUS_ALLOC_FAILED == 2);
static_assert(CUSOLVER_STATUS_INVALID_VALUE == 3 && CUSOLVER_STATUS_EXECUTION_FAILED == 6);

}  // namespace adjoint::cuda
