// Elements told apart on a device, which kernels/unique.h describes.
#pragma once

#include "kernels/unique.h"

namespace adjoint::cuda {

int64_t unique_elements(const View& in, bool consecutive, const View& values, const View* inverse, const View* counts);

}  // namespace adjoint::cuda
