// Sampling of images at the points of a grid, and its derivatives.
#pragma once

#include <optional>

#include "core/ints.h"
#include "core/tensor.h"

namespace adjoint::ops {

// Modes: 0 bilinear, 1 nearest, 2 bicubic. Paddings: 0 zeros, 1 border, 2 reflection. With a `direction` of the grid's
// size, what is sampled is the derivative along it.

TensorPtr grid_sampler(Tensor* input, Tensor* grid, std::optional<Tensor*> direction, int64_t interpolation_mode,
                       int64_t padding_mode, bool align_corners);
/// The gradient of the input, of these sizes.
TensorPtr grid_sampler_input(Tensor* grad, const Ints& size, Tensor* grid, std::optional<Tensor*> direction,
                             int64_t interpolation_mode, int64_t padding_mode, bool align_corners);
TensorPtr grid_sampler_grid(Tensor* grad, Tensor* input, Tensor* grid, std::optional<Tensor*> direction,
                            int64_t interpolation_mode, int64_t padding_mode, bool align_corners);

}  // namespace adjoint::ops
