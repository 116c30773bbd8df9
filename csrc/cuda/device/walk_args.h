// Views of one shape as kernels count through them: the sizes, and how far each view goes along each dimension.
#pragma once

#include <cstdint>

namespace adjoint::cuda {

inline constexpr int kMaxWalk = 12;

/// Over N views; sizes and strides are counted in elements, the last dimension is the innermost one.
template <int N>
struct WalkArgs {
  int64_t numel;
  int32_t ndim;
  int64_t sizes[kMaxWalk];
  int64_t strides[N][kMaxWalk];
};

/// An element of 16 bytes, for those that are moved and not looked at.
struct alignas(16) DoubleWord {
  uint64_t low, high;
};

}  // namespace adjoint::cuda
