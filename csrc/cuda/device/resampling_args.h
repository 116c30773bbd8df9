// The parameter of kernels that resample planes; W is the type of places, 32 bits wide where these do.
#pragma once

#include <cstdint>

namespace adjoint::cuda {

template <class W>
struct ResampleAxis {
  W in, out;
  double step;      ///< input elements per output element, in the type of positions
  W before, after;  ///< of a padding
  int32_t kept;     ///< this axis is not resampled
};

template <class W>
struct ResampleArgs {
  const void* in;
  void* out;
  W numel;
  ResampleAxis<W> axes[3];
};

}  // namespace adjoint::cuda
