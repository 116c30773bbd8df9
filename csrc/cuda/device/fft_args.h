// The parameter of the kernel around cuFFT, as the program fills it and the device reads it.
#pragma once

#include <cstdint>

namespace adjoint::cuda {

/// Lines of n / 2 + 1 complex values.
struct HalfLinesArgs {
  char* data;
  int64_t lines, n, stride, distance;
};

}  // namespace adjoint::cuda
