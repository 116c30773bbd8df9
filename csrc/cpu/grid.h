// The CPU's sampling at the points of a grid; kernels/grid.h says what each function does.
#pragma once

#include "kernels/grid.h"

namespace adjoint::cpu {

kernels::Grid::Sample grid_sample, grid_sample_image;
void grid_sample_grid(const kernels::GridShape& shape, const View& grad, const View& image, const View& grid,
                      const View* direction, const View& out);

}  // namespace adjoint::cpu
