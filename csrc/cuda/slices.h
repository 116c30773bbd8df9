// The slices of views along a dimension, for kernels that go along it.
#pragma once

#include <span>
#include <string>

#include "core/view.h"
#include "cuda/device/slices_args.h"

namespace adjoint::cuda {

/// Whether kernels take views of this shape: few enough dimensions, and types that are computed with.
bool can_slice(std::span<const View* const> views);
/// The slices of views of one shape. 0-d counts as one element.
SliceArgs slices_of(std::span<const View* const> views, int dim);
/// Whether neighbours across the slices lie nearer to one another than those along them.
bool lie_side_by_side(const SliceArgs& args);
/// Whether packets of so many elements can be taken along the slices of a view whose elements have so many bytes.
bool has_packets(const SliceArgs& args, int view, int width, int64_t itemsize);
/// Whether numbers of elements need 64 bits.
bool is_wide(const SliceArgs& args);

}  // namespace adjoint::cuda
