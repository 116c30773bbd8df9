// Reductions on a device.
#pragma once

#include "kernels/reduce.h"

namespace adjoint::cuda {

extern const kernels::Reduce reduce;

}  // namespace adjoint::cuda
