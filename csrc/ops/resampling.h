// Interpolation to another size, and paddings that repeat elements of the input; both by tables of indices and weights.
#pragma once

#include <optional>
#include <string>

#include "core/ints.h"
#include "core/tensor.h"

namespace adjoint::ops {

/// The last dimensions in other sizes. `mode` is nearest, nearest-exact, linear or cubic, or an antialiased linear-aa,
/// cubic-aa or lanczos-aa. The scales, by dimension from the last, are those that were asked for, if any.
TensorPtr upsample(Tensor* input, const Ints& output_size, const std::string& mode, bool align_corners,
                   std::optional<double> scale_x, std::optional<double> scale_y, std::optional<double> scale_z);
TensorPtr upsample_backward(Tensor* grad, const Ints& size, const std::string& mode, bool align_corners,
                            std::optional<double> scale_x, std::optional<double> scale_y,
                            std::optional<double> scale_z);

/// Pairs (before, after) from the last dimension on; `mode` is reflect, replicate or circular.
TensorPtr pad_repeating(Tensor* input, const Ints& pad, const std::string& mode);
TensorPtr pad_repeating_backward(Tensor* grad, const Ints& size, const Ints& pad, const std::string& mode,
                                 bool channels_last);

}  // namespace adjoint::ops
