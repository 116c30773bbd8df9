// Sampling of images at the points of a grid, in two or three dimensions, and its first and second derivatives. All
// views are packed and of one type, Float32 or Float64.
#pragma once

#include "core/view.h"

namespace adjoint::kernels {

enum class GridMode { Linear, Nearest, Cubic };
enum class GridPadding { Zeros, Border, Reflection };

/// Images [batch, channels, size...]; grids [batch, points, dims] of coordinates between -1 and 1, x first; samples
/// [batch, channels, points]. Images have no size of 0, and no more elements in a plane
/// than an int32 counts.
struct GridShape {
  int64_t batch, channels, points;
  int dims;
  int64_t size[3];  ///< of the last `dims` dimensions: x, y, z
  GridMode mode;
  GridPadding padding;
  bool align_corners;

  int64_t plane() const {
    int64_t product = 1;
    for (int d = 0; d < dims; ++d) product *= size[d];
    return product;
  }
};

/// Where `direction`, of the grid's size, is not null, the samples are those of the derivative along it.
struct Grid {
  using Sample = void(const GridShape& shape, const View& from, const View& grid, const View* direction,
                      const View& out);

  /// Samples of the image.
  Sample* sample;
  /// The transpose as a function of the image: from a gradient of samples.
  Sample* image_grad;
  /// The gradient of the sum of grad * samples with respect to the grid.
  void (*grid_grad)(const GridShape& shape, const View& grad, const View& image, const View& grid,
                    const View* direction, const View& out);
};

}  // namespace adjoint::kernels
