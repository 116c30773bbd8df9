// The parameters of the kernels of segments.h.
#pragma once

#include <cstdint>

namespace adjoint::cuda {

struct ValuesArgs {
  char* data;
  int64_t n;
};

/// Of [lines, rows, inner] into [lines, count, inner].
struct SegmentArgs {
  const char* in;
  const int64_t* ends;
  char* out;
  int64_t lines, rows, count, inner;
};

}  // namespace adjoint::cuda
