#pragma once

#include "core/scalar.h"
#include "core/view.h"

namespace adjoint::cpu {

// As kernels/ranges.h has them.
void arange(const View& out, const Scalar& start, const Scalar& step);
void linspace(const View& out, const Scalar& start, const Scalar& end);
void logspace(const View& out, const Scalar& start, const Scalar& end, double base);

}  // namespace adjoint::cpu
