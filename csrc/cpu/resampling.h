// The CPU's resampling; kernels/resampling.h says what each function does.
#pragma once

#include "kernels/resampling.h"

namespace adjoint::cpu {

kernels::Resampling::Resample resample_move, resample_interpolate, resample_backward;

}  // namespace adjoint::cpu
