// The series of gamma numbers' slopes, many at once. See Note [Instruction sets] in cpu/isa.h.
#pragma once

#include <cstdint>

#include "cpu/isa.h"

namespace adjoint::cpu {

struct SlopeLoops {
  /// dx/da of gamma numbers x of shapes a, into `out`, by the series of the distribution function: terms are added
  /// until they are below `precision` of the sum.
  void (*gamma_series)(const double* a, const double* x, double precision, double* out, int64_t n);

  template <Isa>
  static SlopeLoops compiled();
};

}  // namespace adjoint::cpu
