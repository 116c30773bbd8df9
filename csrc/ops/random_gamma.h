// Gamma numbers, and how they and beta numbers move with their parameters.
#pragma once

#include "core/generator.h"
#include "core/tensor.h"

namespace adjoint::ops {

/// Gamma numbers of these shapes and rate 1.
TensorPtr standard_gamma(Tensor* input, Generator* generator);
/// Points of the simplex along the last dimension: the shares of gamma numbers of these shapes in their sum.
TensorPtr sample_dirichlet(Tensor* input, Generator* generator);
/// The derivative of gamma numbers by their shapes, their quantiles fixed.
TensorPtr standard_gamma_grad(Tensor* input, Tensor* output);
/// The derivative of beta numbers x by their first parameter, their quantiles fixed, divided by 1 - x; `total` is the
/// sum of both parameters.
TensorPtr dirichlet_grad(Tensor* x, Tensor* alpha, Tensor* total);

}  // namespace adjoint::ops
