// Complex tensors from their parts.
#pragma once

#include "core/tensor.h"

namespace adjoint::ops {

/// real + i imag, broadcast.
TensorPtr complex(Tensor* real, Tensor* imag);

}  // namespace adjoint::ops
