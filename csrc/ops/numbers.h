// Numbers that are to be elements: whether they fit, and what they are in memory.
#pragma once

#include "core/value.h"

namespace adjoint {

/// Throws torch's error where a value does not fit in `dtype`; `type_name` as the error calls it.
void check_fits(const Scalar& value, DType dtype, const char* type_name = nullptr);
/// The same for a value that is written everywhere: what is too large for a half type becomes infinite.
void check_fill(const Scalar& value, DType dtype);
/// Writes a value everywhere, if it fits.
void fill_value(Tensor* tensor, const Scalar& value);

}  // namespace adjoint

namespace adjoint::ops {

/// The type that a number has as a tensor.
DType number_type(Category category);

/// The value of a tensor of one element, to be written where the tensor is; any where there are no values.
Scalar number_in(const Tensor* tensor);

/// Whether a value is a tensor of no dimension on this device, and would have to be waited for to be made a number.
bool stays_on(Device device, const Value& value);

/// One element of a given type made from a number or a 0-d tensor; throws torch's error when the value does not fit.
class Element {
 public:
  Element(const Scalar& value, DType dtype) : Element(value, dtype, dtype) {}
  /// The value must fit in the type `range`, which may be wider.
  Element(const Scalar& value, DType dtype, DType range);
  /// `op` names the op in the error for a tensor that has dimensions.
  Element(const char* op, const Value& value, DType dtype);
  const void* get() const { return bytes_; }

 private:
  alignas(16) char bytes_[16];
};

}  // namespace adjoint::ops
