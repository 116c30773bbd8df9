// NVRTC, the run-time compiler: our declarations of what is used of it.
#pragma once

#include <cstddef>

#include "cuda/library.h"

namespace adjoint::cuda::nvrtc {

inline constexpr LibraryFile kFiles[] = {{13, "libnvrtc.so.13"}, {12, "libnvrtc.so.12"}};

using Program = struct NvrtcProgram*;

// See Note [Declarations] in cuda/library.h.
// clang-format off: a table
#define ADJOINT_EACH_NVRTC_FUNCTION(X)                                                                               \
  X(version, nvrtcVersion, int, (int*, int*))                                                                        \
  X(create, nvrtcCreateProgram, int,                                                                                 \
    (Program*, const char*, const char*, int, const char* const*, const char* const*))                               \
  X(compile, nvrtcCompileProgram, int, (Program, int, const char* const*))                                           \
  X(log_size, nvrtcGetProgramLogSize, int, (Program, size_t*))                                                       \
  X(log, nvrtcGetProgramLog, int, (Program, char*))                                                                  \
  X(code_size, nvrtcGetCUBINSize, int, (Program, size_t*))                                                           \
  X(code, nvrtcGetCUBIN, int, (Program, char*))                                                                      \
  X(destroy, nvrtcDestroyProgram, int, (Program*))
#define ADJOINT_EACH_NVRTC_NUMBER(X) X(kOk, NVRTC_SUCCESS, 0)
// clang-format on

ADJOINT_DECLARE_FUNCTIONS(Functions, ADJOINT_EACH_NVRTC_FUNCTION);
ADJOINT_EACH_NVRTC_NUMBER(ADJOINT_DECLARE_NUMBER)

}  // namespace adjoint::cuda::nvrtc
