// Softmax on a device.
#pragma once

#include "kernels/softmax.h"

namespace adjoint::cuda {

void set_softmax(kernels::Softmax& table);

}  // namespace adjoint::cuda
