// Windows of planes as columns on a device, which kernels/folding.h describes.
#pragma once

#include "kernels/folding.h"

namespace adjoint::cuda {

void unfold_planes(const kernels::FoldShape& shape, const View& in, const View& out);
void fold_planes(const kernels::FoldShape& shape, const View& in, const View& out);

}  // namespace adjoint::cuda
