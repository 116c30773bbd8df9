// Sampling of images at the points of a grid, in two or three dimensions, and its first and second derivatives.
#pragma once

#include <cstdint>

namespace adjoint::cpu {

enum class GridMode { Linear, Nearest, Cubic };
enum class GridPadding { Zeros, Border, Reflection };

/// Images [batch, channels, size...]; grids [batch, points, dims] of coordinates between -1 and 1, x first; samples
/// [batch, channels, points]. All are contiguous. Images have no size of 0, and
/// no more elements in a plane than an int32 counts.
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

// Where `direction`, of the grid's size, is not null, the samples are those of the derivative along it.

template <class T>
void grid_sample(const GridShape& shape, const T* image, const T* grid, const T* direction, T* out);
/// The transpose as a function of the image.
template <class T>
void grid_sample_image(const GridShape& shape, const T* grad, const T* grid, const T* direction, T* out);
/// The gradient of the sum of grad * samples with respect to the grid.
template <class T>
void grid_sample_grid(const GridShape& shape, const T* grad, const T* image, const T* grid, const T* direction, T* out);

}  // namespace adjoint::cpu
