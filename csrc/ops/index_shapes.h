// Whether indices fit what they index, by shape alone: in torch's words, whatever the device. Tensors without
// dimensions count as one element in one dimension.
#pragma once

#include "core/error.h"
#include "core/shape.h"

namespace adjoint::ops {

/// An index of elements along `dim`, to be read from an input.
void check_gather(Sizes input, int dim, Sizes index);
/// An index of elements along `dim`, to be written to; `src` null where one number is.
void check_scatter(const char* op, Sizes target, int dim, Sizes index, const Sizes* src);
/// An index of whole slices along `dim`, to be written to. `kind` is that of torch's error.
void check_slices(const char* op, ErrorKind kind, Sizes target, int dim, Sizes index, Sizes source);
/// An index of whole slices.
void check_slice_index(const char* op, Sizes index);

}  // namespace adjoint::ops
