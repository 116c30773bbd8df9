// Moving values: copies with conversion, fills, and reading a single one.
#pragma once

#include "core/scalar.h"
#include "core/view.h"

namespace adjoint::kernels {

struct Memory {
  /// dst[...] = convert(src[...]). The sizes must be equal. Views that overlap give an unspecified result, except that
  /// copying a view onto itself does nothing.
  void (*copy)(const View& src, const View& dst);
  /// The same from the device to the program's memory, and back.
  void (*to_host)(const View& src, const View& dst);
  void (*from_host)(const View& src, const View& dst);
  /// Writes the same element everywhere; `value` points at one element of the type of `dst`, in the program's memory.
  void (*fill)(const View& dst, const void* value);
  /// Writes zeros into a view whose elements lie side by side, in whatever order.
  void (*clear)(const View& dst);
  /// Writes what shows that nothing was written yet: nan, the largest integer or True.
  void (*fill_unset)(const View& dst);
  /// Writes 0, 1, 2 and so on into one dimension of Int64.
  void (*enumerate)(const View& dst);
  /// The value of a view of one element.
  Scalar (*read)(const View& from);
  /// The same to be written on the device again: any value where there are none.
  Scalar (*read_back)(const View& from);
};

}  // namespace adjoint::kernels
