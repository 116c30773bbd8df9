// The parameters of the kernels of grid.h.
#pragma once

#include <cstdint>

namespace adjoint::cuda {

/// Images [batch, channels, size...], grids [batch, points, dims], samples [batch, channels, points].
struct GridArgs {
  const void* image;
  const void* samples;  ///< or their gradient
  const void* grid;
  const void* direction;  ///< null: none
  void* out;
  int64_t batch, channels, points, plane;
  int64_t size[3];        ///< x, y, z
  int64_t channels_each;  ///< of a block, which blockIdx.y counts
  int32_t padding, align_corners;
  void* keys;     ///< of taps: which element of all planes
  void* weights;  ///< of taps
};

/// The taps of all points in the order of the elements that they name.
struct GridOwnerArgs {
  const void *keys, *weights, *grad;
  const uint32_t* places;
  void* out;
  int64_t n, none, channels, points, plane, channels_each;
};

}  // namespace adjoint::cuda
