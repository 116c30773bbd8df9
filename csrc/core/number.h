// A number with the category that it was written in, which decides the type of what is made of it.
#pragma once

#include "core/scalar.h"
#include "core/tensor.h"

namespace adjoint {

struct Number {
  Scalar value;
  Category category;  ///< Integer also for what lies beyond 64 bits, whose value is a float
};

/// A tensor, or a number with its category.
struct TensorOrNumber {
  Tensor* tensor = nullptr;
  Number number{};  ///< valid when there is no tensor
};

/// A tensor, or a number that is wanted as a double.
struct TensorOrReal {
  Tensor* tensor = nullptr;
  double real = 0;  ///< valid when there is no tensor
};

}  // namespace adjoint
