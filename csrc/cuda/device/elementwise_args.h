// The parameter of elementwise kernels, as the program fills it and the device reads it.
#pragma once

#include "core/scalar.h"

namespace adjoint::cuda {

inline constexpr int kMaxOperands = 9;  ///< the output, and eight inputs
inline constexpr int kMaxCollapsed = 8;

/// Over contiguous elements. A number among the inputs is here, as an element of its type.
struct PackedArgs {
  char* data[kMaxOperands];  ///< the output first
  int64_t numel;
  struct alignas(16) Number {
    char bytes[16];
  } numbers[kMaxOperands];
  Scalar params[8];
};

/// Over elements at any strides, which are counted in elements; of the last dimension, in what one thread has.
struct StridedArgs : PackedArgs {
  int32_t ndim;
  int64_t sizes[kMaxCollapsed];
  int64_t strides[kMaxOperands][kMaxCollapsed];
};

/// Of several computations over as many elements.
template <class Args, int count>
struct Parts {
  Args parts[count];
};

}  // namespace adjoint::cuda
