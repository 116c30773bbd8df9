// Resampling of planes on a device, which kernels/resampling.h describes.
#pragma once

#include "kernels/resampling.h"

namespace adjoint::cuda {

void resample_move(const kernels::ResampleShape& shape, const View& in, const View& out);
void resample_interpolate(const kernels::ResampleShape& shape, const View& in, const View& out);
void resample_backward(const kernels::ResampleShape& shape, const View& in, const View& out);

}  // namespace adjoint::cuda
