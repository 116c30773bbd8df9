// Numbers that are to be elements: whether they fit.
#pragma once

#include "core/scalar.h"
#include "core/tensor.h"

namespace adjoint {

/// Throws torch's error where a value does not fit in `dtype`; `type_name` as the error calls it.
void check_fits(const Scalar& value, DType dtype, const char* type_name = nullptr);
/// The same for a value that is written everywhere: what is too large for a half type becomes infinite.
void check_fill(const Scalar& value, DType dtype);
/// Writes a value everywhere, if it fits.
void fill_value(Tensor* tensor, const Scalar& value);

}  // namespace adjoint
