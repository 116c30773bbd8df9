// Numbers in a row: each is found from its place. All views are packed, and counted through whatever their sizes.
#pragma once

#include "core/scalar.h"
#include "core/view.h"

namespace adjoint::kernels {

struct Ranges {
  /// Element i is start + i * step, in the widest arithmetic of the type.
  void (*arange)(const View& out, const Scalar& start, const Scalar& step);
  /// Evenly spaced numbers, both ends met exactly.
  void (*linspace)(const View& out, const Scalar& start, const Scalar& end);
  /// base to the power of these.
  void (*logspace)(const View& out, const Scalar& start, const Scalar& end, double base);
};

}  // namespace adjoint::kernels
