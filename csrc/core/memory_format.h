// Memory formats: images and volumes whose channels lie innermost, and which format a result should have.
#pragma once

#include "core/tensor.h"

namespace adjoint {

enum class MemoryFormat : uint8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };

/// The format that torch takes a tensor to be in: channels last where the strides of 4 or 5 dimensions say so, gaps
/// between elements or not, and contiguous otherwise. Strides of dimensions of size 1 count, so that a tensor which
/// lies in both formats keeps the one that it was made in.
MemoryFormat suggested_format(const Shape* shape);
/// The format of channels last for this many dimensions; contiguous if there is none or it is not wanted.
inline MemoryFormat channels_last_format(int ndim, bool wanted = true) {
  if (!wanted || (ndim != 4 && ndim != 5)) return MemoryFormat::Contiguous;
  return ndim == 4 ? MemoryFormat::ChannelsLast : MemoryFormat::ChannelsLast3d;
}

/// Whether the elements lie in the order of a format, each next to the one before; dimensions of size 1 do not matter.
bool lies_in(const Shape* shape, MemoryFormat format);
/// The shape of a new tensor of these sizes in a memory format other than Preserve.
ShapePtr shape_in_format(Sizes sizes, MemoryFormat format);

}  // namespace adjoint
