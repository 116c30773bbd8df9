// The parameter of kernels that resample planes.
#pragma once

#include <cstdint>

namespace adjoint::cuda {

struct ResampleAxis {
  int64_t in, out;
  double step;            ///< input elements per output element, in the type of positions
  int64_t before, after;  ///< of a padding
  int32_t kept;           ///< this axis is not resampled
};

struct ResampleArgs {
  const void* in;
  void* out;
  int64_t numel;
  ResampleAxis axes[3];
};

}  // namespace adjoint::cuda
