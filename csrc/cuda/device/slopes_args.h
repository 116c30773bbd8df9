// The parameter of slopes of random numbers, as the program fills it and the device reads it.
#pragma once

#include <cstdint>

#include "core/legendre.h"

namespace adjoint::cuda {

struct SlopeArgs {
  double* out;           ///< shapes of gamma numbers, or beta numbers: they become slopes
  const char* first;     ///< gamma numbers, or first parameters
  const double* second;  ///< totals of both parameters
  int64_t n;
  LegendreNodes<20> nodes;
};

}  // namespace adjoint::cuda
