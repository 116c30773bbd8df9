// What the CPU computes.
#pragma once

#include "kernels/backend.h"

namespace adjoint::cpu {

extern const Backend backend;

}  // namespace adjoint::cpu
