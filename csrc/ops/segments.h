// Runs of rows reduced to one each.
#pragma once

#include <string>

#include "core/tensor.h"

namespace adjoint::ops {

/// Of data of sizes [lines, rows, ...] the rows between neighbours of `ends`, [lines, count + 1], joined by "sum",
/// "max", "min" or "prod".
TensorPtr segments(Tensor* input, Tensor* ends, const std::string& reduce);

}  // namespace adjoint::ops
