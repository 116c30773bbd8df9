// Tensors with one value everywhere.
#pragma once

#include "core/scalar.h"
#include "core/tensor.h"

namespace adjoint::ops {

/// A tensor like `input` that holds `value` (a number or a 0-d tensor) everywhere.
TensorPtr filled(Tensor* input, PyObject* value);
/// The same, all elements in one place: to be copied from.
TensorPtr spread_value(Tensor* input, PyObject* value);
TensorPtr zeroed(Tensor* input);

}  // namespace adjoint::ops
