// Batches of matrices: checks, and memory that lies column by column.
#pragma once

#include <string>
#include <vector>

#include "core/lock.h"
#include "core/tensor.h"
#include "kernels/backend.h"

namespace adjoint::ops {

// ---- Errors, in torch's words

/// "(Batch element 1): " for the first matrix with an info that is not 0; "" when there is no batch.
std::string batch_element(const Tensor* infos, int64_t place);
/// The first of `infos` that is not 0.
kernels::LinalgFailure first_failure(const Tensor* infos);

void check_matrix_dims(const char* op, const Tensor* tensor, const char* name = "A");
void check_square(const char* op, const Tensor* tensor, const char* name = "A");
void check_float(const char* op, const Tensor* tensor);
void check_not_half(const char* op, const Tensor* tensor);
void check_same_type(const char* op, const Tensor* a, const char* a_name, const Tensor* b, const char* b_name);
/// A X = B, or X A = B.
void check_solvable(const char* op, const Tensor* a, const Tensor* b, bool left);
/// Types that LAPACK does not know fail in the name of torch's kernel.
void check_lapack_type(const char* kernel, DType dtype);

// ---- Geometry

inline int64_t rows_of(const Tensor* t) { return t->size(t->ndim() - 2); }
inline int64_t cols_of(const Tensor* t) { return t->size(t->ndim() - 1); }
inline Sizes batch_sizes(const Tensor* t) { return t->sizes().first(t->ndim() - 2); }

/// Uninitialised matrices that lie column by column.
TensorPtr column_major(Sizes batch, int64_t rows, int64_t cols, DType dtype, Device device);
TensorPtr column_major_copy(const Tensor* tensor);
/// Uninitialised matrices that lie row by row; one vector of `n` elements for each matrix of the batch; one number for
/// each; a tensor without elements.
TensorPtr row_major(Sizes batch, int64_t rows, int64_t cols, DType dtype, Device device);
TensorPtr batch_vectors(Sizes batch, int64_t n, DType dtype, Device device);
TensorPtr batch_numbers(Sizes batch, DType dtype, Device device);
TensorPtr nothing(DType dtype, Device device);
/// The last two dimensions swapped, on the same memory.
TensorPtr swapped(const Tensor* tensor);
/// The matrices repeated to the batch of these sizes, on the same memory.
TensorPtr expanded_batch(const Tensor* tensor, Sizes batch);
/// The sizes of two batches that broadcast.
std::vector<int64_t> broadcast_batches(const Tensor* a, const Tensor* b);

/// What WithoutLock asks: the work on matrices, each element of which costs so many multiplications.
int64_t work_on(const Tensor* matrices, int64_t each);

}  // namespace adjoint::ops
