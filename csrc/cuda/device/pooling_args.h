// The parameter of pooling kernels; W is the type of places, 32 bits wide where these do.
#pragma once

#include <cstdint>

namespace adjoint::cuda {

/// As kernels::PoolAxis.
template <class W>
struct PoolWindows {
  W in, out, taps, step, stride, padding;
  int32_t adaptive, counts_padding;
};

template <class W>
struct PoolArgs {
  const void* in;
  void* out;
  int64_t* indices;     ///< null: not asked for
  const void* samples;  ///< of fractional pooling: where windows begin
  W numel;              ///< elements that are written
  int64_t divisor;      ///< 0: the number of elements of the window
  int32_t dims;
  PoolWindows<W> axes[3];
};

}  // namespace adjoint::cuda
