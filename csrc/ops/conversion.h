// Changing a tensor's element type.
#pragma once

#include "core/tensor.h"

namespace adjoint::ops {

/// A copy in another type; the tensor itself when it has that type already and no copy is asked for.
inline TensorPtr to_dtype(Tensor* input, DType dtype, bool copy) {
  return copy && input->dtype == dtype ? clone(input) : cast(input, dtype);
}

}  // namespace adjoint::ops
