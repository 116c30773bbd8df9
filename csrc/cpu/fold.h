// Windows of planes as columns of a matrix, and sums of columns back into planes.
#pragma once

#include <cstdint>

namespace adjoint::cpu {

/// Planes [planes, height, width] and columns [planes, kernel rows, kernel columns, rows, columns], both contiguous.
struct FoldShape {
  int64_t planes, size[2], kernel[2], stride[2], padding[2], dilation[2], blocks[2];
};

/// Elements of any type are copied; zeros where a window reaches over the edge.
void unfold_planes(const FoldShape& shape, int64_t itemsize, const char* in, char* out);
/// T is float, double, complex64 or complex128.
template <class T>
void fold_planes(const FoldShape& shape, const T* in, T* out);

}  // namespace adjoint::cpu
