#include "ops/sparse.h"

#include <array>
#include <vector>

#include "core/error.h"
#include "core/lock.h"
#include "kernels/backend.h"
#include "ops/memory.h"

namespace adjoint::ops {
namespace {

TensorPtr integers(int64_t n, Device device) { return empty(std::array<int64_t, 1>{n}, DType::Int64, device); }

/// A packed vector of int64, which kernels take for granted.
TensorPtr indices(Tensor* tensor, const char* what) {
  if (tensor->dtype != DType::Int64 || tensor->ndim() != 1)
    fail("expected ", what, " of a sparse tensor to be a vector of int64; got ", tensor->ndim(), " dimensions of ",
         info(tensor->dtype).name);
  return contiguous(tensor);
}

/// A matrix whose rows are packed.
TensorPtr rows_of(Tensor* matrix) {
  if (matrix->ndim() != 2) fail("expected a matrix; got ", matrix->ndim(), " dimensions");
  const bool packed = matrix->size(1) == 1 || matrix->stride(1) == 1;
  return packed ? TensorPtr::borrow(matrix) : contiguous(matrix);
}

void check_places(bool good) {
  if (!good)
    fail(ErrorKind::Index,
         "index out of range: a sparse tensor has entries outside of its sizes; its indices were changed since it was "
         "made");
}

}  // namespace

std::tuple<TensorPtr, TensorPtr, TensorPtr> sparse_group(Tensor* keys, int64_t bound) {
  TensorPtr packed = indices(keys, "keys");
  const int64_t n = packed->numel();
  TensorPtr order = integers(n, keys->device), groups = integers(n, keys->device),
            starts = integers(n + 1, keys->device);
  int64_t found;
  {
    WithoutLock unlocked(n);
    found = on(keys->device).sparse.group(packed->view(), bound, order->view(), groups->view(), starts->view());
  }
  TensorPtr used = integers(found + 1, keys->device);
  on(keys->device).memory.copy(starts->view(1, used->shape->sizes(), used->shape->strides()), used->view());
  return {std::move(order), std::move(groups), std::move(used)};
}

TensorPtr sparse_sum_groups(Tensor* values, Tensor* order, Tensor* starts, Tensor* /*groups*/) {
  TensorPtr packed = contiguous(values), places = indices(order, "order"), bounds = indices(starts, "starts");
  if (values->ndim() < 1 || values->size(0) != places->numel() || bounds->numel() < 1)
    fail("expected as many values of a sparse tensor as there are entries");
  std::vector<int64_t> sizes(values->sizes().begin(), values->sizes().end());
  sizes[0] = bounds->numel() - 1;
  TensorPtr result = empty(sizes, values->dtype, values->device);
  WithoutLock unlocked(values->numel());
  on(values->device).sparse.sum_groups(packed->view(), places->view(), bounds->view(), result->view());
  return result;
}

TensorPtr sparse_product(Tensor* values, Tensor* starts, std::optional<Tensor*> order, Tensor* columns, Tensor* dense) {
  TensorPtr bounds = indices(starts, "starts"), places = indices(columns, "columns");
  TensorPtr by = order ? indices(*order, "order") : TensorPtr();
  TensorPtr factors = contiguous(values), matrix = rows_of(dense);
  if (factors->ndim() != 1 || factors->numel() != places->numel() || bounds->numel() < 1 ||
      (by && by->numel() != places->numel()))
    fail("expected as many values of a sparse matrix as there are entries");
  if (factors->dtype != matrix->dtype)
    fail("expected m1 and m2 to have the same dtype, but got: ", info(factors->dtype).c_name,
         " != ", info(matrix->dtype).c_name);
  TensorPtr result = empty(std::array<int64_t, 2>{bounds->numel() - 1, matrix->size(1)}, matrix->dtype, matrix->device);
  bool good;
  {
    const View entries = by ? by->view() : View{};
    WithoutLock unlocked(places->numel() * matrix->size(1) / 8);
    good = on(result->device)
               .sparse.product({bounds->view(), by ? &entries : nullptr, places->view(), factors->view()},
                               matrix->view(), result->view());
  }
  check_places(good);
  return result;
}

TensorPtr sparse_sampled(Tensor* row, Tensor* column, Tensor* first, Tensor* second) {
  TensorPtr rows = indices(row, "rows"), columns = indices(column, "columns");
  TensorPtr a = rows_of(first), b = rows_of(second);
  if (rows->numel() != columns->numel() || a->size(1) != b->size(1) || a->dtype != b->dtype)
    fail("expected matrices of one type whose rows have one length, and as many rows as columns of entries");
  TensorPtr result = empty(std::array<int64_t, 1>{rows->numel()}, a->dtype, a->device);
  bool good;
  {
    WithoutLock unlocked(rows->numel() * a->size(1) / 8);
    good = on(result->device).sparse.sampled(rows->view(), columns->view(), a->view(), b->view(), result->view());
  }
  check_places(good);
  return result;
}

TensorPtr sparse_solve(Tensor* values, Tensor* starts, std::optional<Tensor*> order, Tensor* columns, Tensor* dense,
                       bool upper, bool unitriangular) {
  TensorPtr bounds = indices(starts, "starts"), places = indices(columns, "columns");
  TensorPtr by = order ? indices(*order, "order") : TensorPtr();
  TensorPtr factors = contiguous(values), matrix = rows_of(dense);
  if (factors->ndim() != 1 || factors->numel() != places->numel() || bounds->numel() != matrix->size(0) + 1 ||
      (by && by->numel() != places->numel()))
    fail("expected a square sparse matrix with as many rows as the right hand side, and as many values as entries");
  if (factors->dtype != matrix->dtype || !is_differentiable(matrix->dtype))
    fail("expected both matrices of a triangular system to have one floating point type");
  TensorPtr result = empty(matrix->sizes(), matrix->dtype, matrix->device);
  bool good;
  {
    const View entries = by ? by->view() : View{};
    WithoutLock unlocked(places->numel() * matrix->size(1) / 8);
    good = on(result->device)
               .sparse.solve({bounds->view(), by ? &entries : nullptr, places->view(), factors->view()}, upper,
                             unitriangular, matrix->view(), result->view());
  }
  check_places(good);
  return result;
}

}  // namespace adjoint::ops
