// Samples of images at the points of a grid on a device, which kernels/grid.h describes.
#pragma once

#include "kernels/grid.h"

namespace adjoint::cuda {

kernels::Grid::Sample grid_sample, grid_image_grad;
void grid_grad(const kernels::GridShape& shape, const View& grad, const View& image, const View& grid,
               const View* direction, const View& out);

}  // namespace adjoint::cuda
