// A tensor or a number: an argument that may be either.
#pragma once

#include "core/scalar.h"
#include "core/tensor.h"

namespace adjoint {

struct Value {
  Tensor* tensor = nullptr;  ///< borrowed; null for a number
  Scalar number;             ///< valid when there is no tensor

  Value(Tensor* its_tensor) : tensor(its_tensor) {}
  Value(const Scalar& its_number) : number(its_number) {}
  bool is_number() const { return tensor == nullptr; }
  Category category() const { return is_number() ? number.category : adjoint::category(tensor->dtype); }
};

}  // namespace adjoint
