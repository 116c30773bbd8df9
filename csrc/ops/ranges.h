// Numbers that follow from their places: arange, linspace, logspace, the indices of triangles.
#pragma once

#include "ops/creation.h"

namespace adjoint::ops {

/// start, start + step, ... below end; of integers if all three are.
TensorPtr arange(const Number& start, const std::optional<Number>& end, const Number& step,
                 const CreationOptions& options);
/// Evenly spaced numbers, both ends included.
TensorPtr linspace(const TensorOrNumber& start, const TensorOrNumber& end, int64_t steps,
                   const CreationOptions& options);
/// Powers of `base` with evenly spaced exponents.
TensorPtr logspace(const TensorOrNumber& start, const TensorOrNumber& end, int64_t steps, double base,
                   const CreationOptions& options);

/// The coordinates (2, n) of the entries on and below (`lower`), or on and above, a diagonal, row by row.
TensorPtr triangle_indices(int64_t row, int64_t col, int64_t offset, bool lower, std::optional<DType> dtype,
                           Tensor* like);

}  // namespace adjoint::ops
