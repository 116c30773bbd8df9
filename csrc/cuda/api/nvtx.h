// NVTX, marks that profilers show: our declarations of what is used of it.
#pragma once

#include <cstdint>

#include "cuda/library.h"

namespace adjoint::cuda::nvtx {

/// Of any CUDA: it talks to a profiler, not to the driver.
inline constexpr LibraryFile kFiles[] = {{0, "libnvtx3interop.so.1"}, {0, "libnvToolsExt.so.1"}};

// See Note [Declarations] in cuda/library.h.
// clang-format off: tables
#define ADJOINT_EACH_NVTX_FUNCTION(X)                                                                                \
  X(push, nvtxRangePushA, int, (const char*))                                                                        \
  X(pop, nvtxRangePop, int, ())                                                                                      \
  X(start, nvtxRangeStartA, uint64_t, (const char*))                                                                 \
  X(end, nvtxRangeEnd, void, (uint64_t))                                                                             \
  X(mark, nvtxMarkA, void, (const char*))
#define ADJOINT_EACH_NVTX_NUMBER(X) X(kNobodyListens, NVTX_NO_PUSH_POP_TRACKING, -2)
// clang-format on

ADJOINT_DECLARE_FUNCTIONS(Functions, ADJOINT_EACH_NVTX_FUNCTION);
ADJOINT_EACH_NVTX_NUMBER(ADJOINT_DECLARE_NUMBER)

}  // namespace adjoint::cuda::nvtx
