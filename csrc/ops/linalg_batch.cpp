#include "ops/linalg_batch.h"

#include <algorithm>

#include "ops/memory.h"

namespace adjoint::ops {

std::string batch_element(const Tensor* infos, int64_t place) {
  return infos->ndim() == 0 ? "" : "(Batch element " + std::to_string(place) + "): ";
}

kernels::LinalgFailure first_failure(const Tensor* infos) {
  return on(infos->device).linalg.first_failure(infos->view());
}

void check_matrix_dims(const char* op, const Tensor* tensor, const char* name) {
  if (tensor->ndim() < 2) fail(op, ": The input tensor ", name, " must have at least 2 dimensions.");
}
void check_square(const char* op, const Tensor* tensor, const char* name) {
  check_matrix_dims(op, tensor, name);
  if (rows_of(tensor) != cols_of(tensor))
    fail(op, ": ", name, " must be batches of square matrices, but they are ", rows_of(tensor), " by ", cols_of(tensor),
         " matrices");
}
void check_float(const char* op, const Tensor* tensor) {
  if (!is_differentiable(tensor->dtype))
    fail(op, ": Expected a floating point or complex tensor as input. Got ", info(tensor->dtype).legacy_name);
}
void check_not_half(const char* op, const Tensor* tensor) {
  if (is_half(tensor->dtype)) fail(op, ": Low precision dtypes not supported. Got ", info(tensor->dtype).legacy_name);
}
void check_same_type(const char* op, const Tensor* a, const char* a_name, const Tensor* b, const char* b_name) {
  if (a->dtype != b->dtype)
    fail(op, ": Expected ", a_name, " and ", b_name, " to have the same dtype, but found ", a_name, " of type ",
         info(a->dtype).legacy_name, " and ", b_name, " of type ", info(b->dtype).legacy_name, " instead");
}
void check_solvable(const char* op, const Tensor* a, const Tensor* b, bool left) {
  check_matrix_dims(op, b, "B");
  if ((left ? rows_of(b) : cols_of(b)) != rows_of(a))
    fail(op, ": Incompatible shapes of A and B for the equation ", left ? "AX = B" : "XA = B", " (", rows_of(a), "x",
         cols_of(a), " and ", rows_of(b), "x", cols_of(b), ")");
}

void check_lapack_type(const char* kernel, DType dtype) {
  switch (dtype) {
    case DType::Float32:
    case DType::Float64:
    case DType::Complex64:
    case DType::Complex128: return;
    default: fail_not_implemented(kernel, dtype);
  }
}

TensorPtr column_major(Sizes batch, int64_t rows, int64_t cols, DType dtype, Device device) {
  int n = static_cast<int>(batch.size());
  int64_t sizes[kMaxDims], strides[kMaxDims];
  if (n + 2 > kMaxDims) fail("at most ", kMaxDims, " dimensions are supported");
  std::copy(batch.begin(), batch.end(), sizes);
  sizes[n] = rows;
  sizes[n + 1] = cols;
  strides[n] = 1;
  strides[n + 1] = std::max<int64_t>(rows, 1);
  int64_t step = std::max<int64_t>(rows, 1) * std::max<int64_t>(cols, 1);
  for (int d = n; d-- > 0; step *= std::max<int64_t>(sizes[d], 1)) strides[d] = step;
  checked_numel({sizes, static_cast<size_t>(n + 2)});
  return empty(make_shape({sizes, static_cast<size_t>(n + 2)}, {strides, static_cast<size_t>(n + 2)}), dtype, device);
}

TensorPtr column_major_copy(const Tensor* tensor) {
  TensorPtr result = column_major(batch_sizes(tensor), rows_of(tensor), cols_of(tensor), tensor->dtype, tensor->device);
  copy_into(tensor, result.get());
  return result;
}

TensorPtr row_major(Sizes batch, int64_t rows, int64_t cols, DType dtype, Device device) {
  std::vector<int64_t> sizes(batch.begin(), batch.end());
  sizes.insert(sizes.end(), {rows, cols});
  return empty(sizes, dtype, device);
}
TensorPtr batch_vectors(Sizes batch, int64_t n, DType dtype, Device device) {
  std::vector<int64_t> sizes(batch.begin(), batch.end());
  sizes.push_back(n);
  return empty(sizes, dtype, device);
}
TensorPtr batch_numbers(Sizes batch, DType dtype, Device device) { return empty(batch, dtype, device); }
TensorPtr nothing(DType dtype, Device device) { return empty(std::vector<int64_t>{0}, dtype, device); }

TensorPtr swapped(const Tensor* tensor) {
  std::vector<int64_t> sizes(tensor->sizes().begin(), tensor->sizes().end());
  std::vector<int64_t> strides(tensor->strides().begin(), tensor->strides().end());
  std::swap(sizes[sizes.size() - 1], sizes[sizes.size() - 2]);
  std::swap(strides[strides.size() - 1], strides[strides.size() - 2]);
  return alias(tensor, make_shape(sizes, strides));
}

TensorPtr expanded_batch(const Tensor* tensor, Sizes batch) {
  std::vector<int64_t> sizes(batch.begin(), batch.end()), strides(batch.size() + 2);
  sizes.insert(sizes.end(), {rows_of(tensor), cols_of(tensor)});
  broadcast_strides(tensor->shape, sizes, strides.data());
  return alias(tensor, make_shape(sizes, strides));
}

std::vector<int64_t> broadcast_batches(const Tensor* a, const Tensor* b) {
  int64_t sizes[kMaxDims];
  int n = broadcast_sizes(batch_sizes(a), batch_sizes(b), sizes);
  return {sizes, sizes + n};
}

int64_t work_on(const Tensor* matrices, int64_t each) {
  return static_cast<int64_t>(std::min(static_cast<double>(matrices->numel()) * static_cast<double>(each) / 16, 1e15));
}

}  // namespace adjoint::ops
