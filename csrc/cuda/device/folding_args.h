// The parameter of the kernels between planes and columns of windows.
#pragma once

#include <cstdint>

namespace adjoint::cuda {

/// As kernels::FoldShape.
struct FoldArgs {
  const void* in;
  void* out;
  int64_t numel;
  int64_t size[2], kernel[2], stride[2], padding[2], dilation[2], blocks[2];
};

}  // namespace adjoint::cuda
