// cuFFT: our declarations of what is used of it. A plan is a number.
#pragma once

#include <cstddef>

#include "cuda/driver.h"
#include "cuda/library.h"

namespace adjoint::cuda::cufft {

/// Its own numbers run one behind CUDA's.
inline constexpr LibraryFile kFiles[] = {{13, "libcufft.so.12"}, {12, "libcufft.so.11"}};

using Plan = int;
using Size = long long;

// See Note [Declarations] in cuda/library.h.
// clang-format off: tables
#define ADJOINT_EACH_CUFFT_FUNCTION(X)                                                                               \
  X(create, cufftCreate, int, (Plan*))                                                                               \
  X(destroy, cufftDestroy, int, (Plan))                                                                              \
  X(set_auto_allocation, cufftSetAutoAllocation, int, (Plan, int))                                                   \
  X(make_plan, cufftMakePlanMany64, int,                                                                             \
    (Plan, int, Size*, Size*, Size, Size, Size*, Size, Size, int, Size, size_t*))                                    \
  X(set_work_area, cufftSetWorkArea, int, (Plan, void*))                                                             \
  X(set_stream, cufftSetStream, int, (Plan, Stream))                                                                 \
  X(complex_float, cufftExecC2C, int, (Plan, void*, void*, int))                                                     \
  X(complex_double, cufftExecZ2Z, int, (Plan, void*, void*, int))                                                    \
  X(from_real_float, cufftExecR2C, int, (Plan, void*, void*))                                                        \
  X(from_real_double, cufftExecD2Z, int, (Plan, void*, void*))                                                       \
  X(to_real_float, cufftExecC2R, int, (Plan, void*, void*))                                                          \
  X(to_real_double, cufftExecZ2D, int, (Plan, void*, void*))
#define ADJOINT_EACH_CUFFT_NUMBER(X)                                                                                 \
  X(kOk, CUFFT_SUCCESS, 0)                                                                                      \
  X(kFromRealFloat, CUFFT_R2C, 0x2a)                                                                                 \
  X(kFromRealDouble, CUFFT_D2Z, 0x6a)                                                                                \
  X(kToRealFloat, CUFFT_C2R, 0x2c)                                                                                   \
  X(kToRealDouble, CUFFT_Z2D, 0x6c)                                                                                  \
  X(kComplexFloat, CUFFT_C2C, 0x29)                                                                                  \
  X(kComplexDouble, CUFFT_Z2Z, 0x69)                                                                                 \
  X(kForward, CUFFT_FORWARD, -1)                                                                                     \
  X(kInverse, CUFFT_INVERSE, 1)
// clang-format on

ADJOINT_DECLARE_FUNCTIONS(Functions, ADJOINT_EACH_CUFFT_FUNCTION);
ADJOINT_EACH_CUFFT_NUMBER(ADJOINT_DECLARE_NUMBER)

}  // namespace adjoint::cuda::cufft
