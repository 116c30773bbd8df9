// Numbers in a row: arange, linspace, logspace.
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

}  // namespace adjoint::ops
