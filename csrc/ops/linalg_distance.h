// Products and distances of vectors that are no matrix products.
#pragma once

#include "core/ints.h"
#include "core/tensor.h"

namespace adjoint::ops {

/// The cross product over a dimension of three elements; the others broadcast.
TensorPtr linalg_cross(Tensor* input, Tensor* other, int64_t dim);

/// p-norms of the differences of all pairs of rows (x1: batch, n, d; x2: batch, m, d).
TensorPtr cdist_forward(Tensor* x1, Tensor* x2, double p);
/// The gradient of x1, for the distances `out` and their gradient.
TensorPtr cdist_backward(Tensor* grad, Tensor* x1, Tensor* x2, double p, Tensor* out);

/// The distances of each pair of rows of one matrix, the first row's first.
TensorPtr pdist_forward(Tensor* input, double p);
TensorPtr pdist_backward(Tensor* grad, Tensor* input, double p, Tensor* out);

}  // namespace adjoint::ops
