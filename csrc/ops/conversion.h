// Changing a tensor's element type.
#pragma once

#include "core/tensor.h"

namespace adjoint::ops {

/// A copy in another type; the tensor itself when it has that type already.
inline TensorPtr to_dtype(Tensor* input, DType dtype) { return cast(input, dtype); }

}  // namespace adjoint::ops
