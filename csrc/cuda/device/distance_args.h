// The parameters of the kernels of distances and cross products, as the program fills them and the device reads them.
#pragma once

#include <cstdint>

namespace adjoint::cuda {

inline constexpr int kMaxCrossDims = 8;

/// Over all dimensions but the one of three elements, whose steps are `parts`. The result comes first.
struct CrossArgs {
  char* data[3];
  int64_t parts[3];
  int64_t numel;
  int32_t ndim;
  int64_t sizes[kMaxCrossDims];
  int64_t strides[3][kMaxCrossDims];
};

/// Rows of `size` elements: n and m of them in each entry of a batch, or n in one matrix.
struct DistanceArgs {
  const char *first, *second;
  char* out;                     ///< distances, or the gradient of the first
  const char *grad, *distances;  ///< for the gradient
  int64_t batch, n, m, size;
  double p;
};

}  // namespace adjoint::cuda
