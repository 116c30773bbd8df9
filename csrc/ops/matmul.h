// Matrix products as ops. `_nt` takes the second operand conjugate-transposed, `_tn` the first: these are the shapes
// that gradients of products have, and need no transposed view.
#pragma once

#include "core/ints.h"
#include "core/scalar.h"
#include "core/tensor.h"

namespace adjoint::ops {

TensorPtr mm(Tensor* input, Tensor* mat2);
/// `turned`: the result lies column by column.
TensorPtr mm_nt(Tensor* input, Tensor* mat2, bool turned);
TensorPtr mm_tn(Tensor* input, Tensor* mat2, bool turned);
TensorPtr bmm(Tensor* input, Tensor* mat2);
TensorPtr bmm_nt(Tensor* input, Tensor* mat2);
TensorPtr bmm_tn(Tensor* input, Tensor* mat2);
TensorPtr mv(Tensor* input, Tensor* vec);
/// input^H @ vec
TensorPtr mv_t(Tensor* input, Tensor* vec);
TensorPtr dot(Tensor* input, Tensor* tensor);
/// conj(input) . other
TensorPtr vdot(Tensor* input, Tensor* other);

/// beta * input + alpha * product, the input being broadcast to the product's shape; it is not read when beta is 0.
TensorPtr addmm(Tensor* input, Tensor* mat1, Tensor* mat2, const Scalar& beta, const Scalar& alpha);
/// The same with factors of 1, and relu of the sum.
TensorPtr addmm_relu(Tensor* input, Tensor* mat1, Tensor* mat2);
TensorPtr addmv(Tensor* input, Tensor* mat, Tensor* vec, const Scalar& beta, const Scalar& alpha);
TensorPtr baddbmm(Tensor* input, Tensor* batch1, Tensor* batch2, const Scalar& beta, const Scalar& alpha);
/// The products of the batch are added up.
TensorPtr addbmm(Tensor* input, Tensor* batch1, Tensor* batch2, const Scalar& beta, const Scalar& alpha);

/// input @ weight^T for matrices, and the same with `bias` added.
TensorPtr linear_plain(Tensor* input, Tensor* weight);
TensorPtr linear_biased(Tensor* bias, Tensor* input, Tensor* weight);

/// input @ conj(mat2), and input^T @ conj(mat2): the gradients of linear layers.
TensorPtr mm_conj(Tensor* input, Tensor* mat2, bool turned);
TensorPtr mm_t_conj(Tensor* input, Tensor* mat2, bool turned);

/// The result of a product in another shape. Shares the memory, which nobody else knows of.
TensorPtr unsafe_view(Tensor* input, const Ints& size);

}  // namespace adjoint::ops
