// The parameter of the kernel of sums.h.
#pragma once

#include <cstdint>

namespace adjoint::cuda {

struct SumsArgs {
  char* out;
  const char* others[16];
  int32_t count;
  int64_t numel;
};

}  // namespace adjoint::cuda
