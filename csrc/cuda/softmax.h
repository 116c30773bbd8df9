// Softmax on a device.
#pragma once

#include "kernels/softmax.h"

namespace adjoint::cuda {

extern const kernels::Softmax softmax;

}  // namespace adjoint::cuda
