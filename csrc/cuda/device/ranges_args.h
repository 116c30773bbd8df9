// The parameter of kernels that write numbers in a row.
#pragma once

#include "core/scalar.h"

namespace adjoint::cuda {

struct RangeArgs {
  char* out;
  int64_t n;
  Scalar start, end;  ///< `end` is the step of arange
  double base;
};

}  // namespace adjoint::cuda
