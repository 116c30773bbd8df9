// Segments of rows joined to one row each, and what is done with results in place.
#pragma once

#include "core/view.h"
#include "cuda/device/segments_args.h"
#include "kernels/reduce.h"

namespace adjoint::cuda {

void segments(const View& in, const View& ends, const View& out, kernels::Segments kind);

}  // namespace adjoint::cuda
