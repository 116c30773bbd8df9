// The parameter of kernels that resample planes by filters against aliasing.
#pragma once

#include <cstdint>

namespace adjoint::cuda {

struct FilterAxis {
  int64_t in, out;
  double step;       ///< input elements per output element, in the type of positions
  int64_t taps;      ///< room for the weights of an output
  int64_t* windows;  ///< two numbers for each output: its first element of the input, and how many it is made of
  void* weights;
  int32_t kept;  ///< this axis is not resampled
};

struct FilterArgs {
  const void* in;
  void* out;
  int64_t numel;  ///< of what is written; while weights are found, of all outputs of both axes
  FilterAxis axes[2];
};

}  // namespace adjoint::cuda
