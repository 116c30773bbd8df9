// The parameter of pooling kernels.
#pragma once

#include <cstdint>

namespace adjoint::cuda {

/// As kernels::PoolAxis.
struct PoolWindows {
  int64_t in, out, taps, step, stride, padding;
  int32_t adaptive, counts_padding;
};

struct PoolArgs {
  const void* in;
  void* out;
  int64_t* indices;     ///< null: not asked for
  const void* samples;  ///< of fractional pooling: where windows begin
  int64_t numel;        ///< elements that are written
  int64_t divisor;      ///< 0: the number of elements of the window
  int32_t dims;
  PoolWindows axes[3];
};

}  // namespace adjoint::cuda
