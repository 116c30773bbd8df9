// Numbers in a row on a device, which kernels/ranges.h describes.
#pragma once

#include "kernels/ranges.h"

namespace adjoint::cuda {

void arange(const View& out, const Scalar& start, const Scalar& step);
void linspace(const View& out, const Scalar& start, const Scalar& end);
void logspace(const View& out, const Scalar& start, const Scalar& end, double base);

}  // namespace adjoint::cuda
