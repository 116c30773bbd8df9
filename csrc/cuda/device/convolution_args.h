// The parameters of the kernels of convolutions, as the program fills them and the device reads them.
#pragma once

#include <cstdint>

namespace adjoint::cuda {

/// The sizes are those of kernels/convolution.h.
struct ConvArgs {
  char *image, *factor, *bias, *out;  ///< what is read at places that the taps say, and what that is multiplied by
  int64_t batch, groups, wide_channels, narrow_channels;
  int64_t wide[3], narrow[3], kernel[3], stride[3], padding[3], dilation[3];
  int64_t tap_step[3];  ///< between taps that meet one wide position: stride / gcd(stride, dilation)
  int64_t classes;      ///< of wide positions that meet the same taps
  int64_t columns;      ///< the most of one class, or of a weight
  int64_t depth, slices, slice_depth;
};

struct SumSlicesArgs {
  const char* parts;
  char* out;
  int64_t numel, slices;
};

/// Weights [groups, first, second * taps], complex and as real parts.
struct SplitWeightArgs {
  char *complex, *real;
  int64_t numel, first, inner;
  int32_t transposed;
};

}  // namespace adjoint::cuda
