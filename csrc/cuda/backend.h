// NVIDIA GPUs: the table of their kernels.
#pragma once

#include "kernels/backend.h"

namespace adjoint::cuda {

extern const Backend backend;

}  // namespace adjoint::cuda
