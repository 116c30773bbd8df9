// Reductions on a device.
#pragma once

#include "kernels/reduce.h"

namespace adjoint::cuda {

void set_reduce(kernels::Reduce& table);

}  // namespace adjoint::cuda
