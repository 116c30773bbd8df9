// Writing into tensors: one value everywhere, or the values of another tensor.
#pragma once

#include "core/value.h"

namespace adjoint::ops {

/// A tensor like `input` that holds `value`, a number or a 0-d tensor, everywhere.
TensorPtr filled(Tensor* input, const Value& value);
void fill_(Tensor* input, const Value& value);
void zero_(Tensor* input);

/// Writes `other`, broadcast and converted whatever is lost.
void copy_(Tensor* input, const Value& other, bool non_blocking);

}  // namespace adjoint::ops
