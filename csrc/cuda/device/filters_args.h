// The parameter of kernels that resample planes by filters against aliasing; W is as in ResampleArgs.
#pragma once

#include <cstdint>

namespace adjoint::cuda {

template <class W>
struct FilterAxis {
  W in, out;
  double step;  ///< input elements per output element, in the type of positions
  W taps;       ///< room for the weights of an output
  W* windows;   ///< two numbers for each output: its first element of the input, and how many it is made of
  void* weights;
  int32_t kept;  ///< this axis is not resampled
};

template <class W>
struct FilterArgs {
  const void* in;
  void* out;
  W numel;  ///< of what is written; while weights are found, of all outputs of both axes
  FilterAxis<W> axes[2];
};

}  // namespace adjoint::cuda
