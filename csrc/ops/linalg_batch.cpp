#include "ops/linalg_batch.h"

#include "core/guard.h"
#include "ops/memory.h"

namespace adjoint::ops {

void fail_linalg(const std::string& message) {
  Object module = checked(PyImport_ImportModule("adjoint.linalg"));
  Object type = checked(PyObject_GetAttrString(module.get(), "LinAlgError"));
  PyErr_SetString(type.get(), message.c_str());
  fail_python();
}

std::string batch_element(const Tensor* info, int64_t place) {
  return info->ndim() == 0 ? "" : "(Batch element " + std::to_string(place) + "): ";
}

int64_t first_failure(const Tensor* info) {
  const int32_t* values = info->as<int32_t>();
  const int32_t* end = values + info->numel();
  const int32_t* found = std::find_if(values, end, [](int32_t value) { return value != 0; });
  return found == end ? -1 : found - values;
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
  if (tensor->dtype == DType::Float16 || tensor->dtype == DType::BFloat16)
    fail(op, ": Low precision dtypes not supported. Got ", info(tensor->dtype).legacy_name);
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

int64_t product(Sizes sizes) {
  int64_t n = 1;
  for (int64_t size : sizes) n *= size;
  return n;
}

TensorPtr column_major(Sizes batch, int64_t rows, int64_t cols, DType dtype) {
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
  return empty(make_shape({sizes, static_cast<size_t>(n + 2)}, {strides, static_cast<size_t>(n + 2)}), dtype);
}

TensorPtr column_major_copy(const Tensor* tensor) {
  TensorPtr result = column_major(batch_sizes(tensor), rows_of(tensor), cols_of(tensor), tensor->dtype);
  cpu::copy(tensor->view(), result->view());
  return result;
}

TensorPtr batch_vectors(Sizes batch, int64_t n, DType dtype) {
  std::vector<int64_t> sizes(batch.begin(), batch.end());
  sizes.push_back(n);
  return empty(sizes, dtype);
}
TensorPtr batch_numbers(Sizes batch, DType dtype) { return empty(batch, dtype); }

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

Columns::Columns(TensorPtr tensor, int inner) : tensor_(std::move(tensor)), batch_dims_(tensor_->ndim() - inner) {
  ld_ = inner == 2 && cols_of(tensor_.get()) > 1 ? tensor_->stride(tensor_->ndim() - 1)
                                                 : std::max<Int>(1, inner == 2 ? rows_of(tensor_.get()) : 1);
}

Columns Columns::readable(Tensor* tensor) {
  int n = tensor->ndim();
  int64_t rows = rows_of(tensor), cols = cols_of(tensor);
  bool packed = rows <= 1 || tensor->stride(n - 2) == 1;
  bool apart = cols <= 1 || tensor->stride(n - 1) >= std::max<int64_t>(rows, 1);
  return Columns(packed && apart ? TensorPtr::borrow(tensor) : column_major_copy(tensor), 2);
}

Columns Columns::vectors(Tensor* tensor) {
  int n = tensor->ndim();
  bool packed = tensor->size(n - 1) <= 1 || tensor->stride(n - 1) == 1;
  return Columns(packed ? TensorPtr::borrow(tensor) : contiguous(tensor), 1);
}

}  // namespace adjoint::ops
