#include "ops/linalg_distance.h"

#include <algorithm>

#include "core/lock.h"
#include "kernels/backend.h"
#include "ops/memory.h"

namespace adjoint::ops {
namespace {

void check_real_type(const char* kernel, DType dtype) {
  if (dtype != DType::Float32 && dtype != DType::Float64) fail_not_implemented(kernel, dtype);
}

/// Three dimensions, the first and last in common, and one type.
void check_pair(const Tensor* x1, const Tensor* x2) {
  if (x1->dtype != x2->dtype)
    fail("expected scalar type ", info(x1->dtype).legacy_name, " but found ", info(x2->dtype).legacy_name,
         "; convert one of them with .to(dtype)");
  if (x1->ndim() != 3 || x2->ndim() != 3 || x1->size(0) != x2->size(0) || x1->size(2) != x2->size(2))
    fail("cdist: expected two batches of rows of one length; got ", to_string(x1->sizes()), " and ",
         to_string(x2->sizes()));
}

void check_like(const char* op, const Tensor* tensor, Sizes sizes, DType dtype) {
  if (tensor->dtype != dtype || !std::equal(sizes.begin(), sizes.end(), tensor->sizes().begin(), tensor->sizes().end()))
    fail(op, ": expected a gradient of shape ", to_string(sizes), " and type ", info(dtype).name, "; got ",
         to_string(tensor->sizes()), " and ", info(tensor->dtype).name);
}

/// What it costs to look at so many pairs of rows.
int64_t work(const Tensor* pairs, int64_t length) { return pairs->numel() * std::max<int64_t>(length, 1); }

}  // namespace

TensorPtr linalg_cross(Tensor* input, Tensor* other, int64_t dim) {
  const char* op = "linalg.cross";
  if (input->ndim() != other->ndim()) fail(op, ": inputs must have the same number of dimensions.");
  if (input->dtype != other->dtype)
    fail(op, ": expected both inputs to have the same dtype; got ", info(input->dtype).name, " and ",
         info(other->dtype).name, "; convert one of them with .to(dtype)");
  if (input->ndim() == 0) fail(ErrorKind::Index, "Dimension specified as ", dim, " but tensor has no dimensions");
  int axis = wrap_dim(dim, input->ndim());
  if (input->size(axis) != 3 || other->size(axis) != 3)
    fail(op, ": inputs dimension ", dim, " must have length 3. Got ", input->size(axis), " and ", other->size(axis));
  if (input->dtype == DType::Bool) fail_not_implemented("cross", input->dtype);
  int64_t sizes[kMaxDims], a[kMaxDims], b[kMaxDims];
  int ndim = broadcast_sizes(input->sizes(), other->sizes(), sizes);
  Sizes shape(sizes, static_cast<size_t>(ndim));
  broadcast_strides(input->shape, shape, a);
  broadcast_strides(other->shape, shape, b);
  TensorPtr result = empty(shape, input->dtype, input->device);
  if (result->numel() == 0) return result;
  WithoutLock unlocked(result->numel());
  on(input->device).distance.cross(input->view(ndim, sizes, a), other->view(ndim, sizes, b), result->view(), axis);
  return result;
}

TensorPtr cdist_forward(Tensor* x1, Tensor* x2, double p) {
  check_pair(x1, x2);
  check_real_type("cdist", x1->dtype);
  TensorPtr a = contiguous(x1), b = contiguous(x2);
  const int64_t sizes[3] = {a->size(0), a->size(1), b->size(1)};
  TensorPtr result = empty(sizes, a->dtype, a->device);
  WithoutLock unlocked(work(result.get(), a->size(2)));
  on(a->device).distance.cdist(a->view(), b->view(), p, result->view());
  return result;
}

TensorPtr cdist_backward(Tensor* grad, Tensor* x1, Tensor* x2, double p, Tensor* out) {
  check_pair(x1, x2);
  const int64_t pairs[3] = {x1->size(0), x1->size(1), x2->size(1)};
  check_like("cdist_backward", grad, pairs, x1->dtype);
  check_like("cdist_backward", out, pairs, x1->dtype);
  check_real_type("cdist_backward", x1->dtype);
  TensorPtr g = contiguous(grad), a = contiguous(x1), b = contiguous(x2), lengths = contiguous(out);
  TensorPtr result = empty(a->sizes(), a->dtype, a->device);
  WithoutLock unlocked(work(lengths.get(), a->size(2)));
  on(a->device).distance.cdist_backward(g->view(), a->view(), b->view(), p, lengths->view(), result->view());
  return result;
}

TensorPtr pdist_forward(Tensor* input, double p) {
  if (input->ndim() != 2) fail("pdist only supports 2D tensors, got: ", input->ndim(), "D");
  check_real_type("pdist", input->dtype);
  TensorPtr a = contiguous(input);
  const int64_t n = a->size(0), count = n > 1 ? n * (n - 1) / 2 : 0;
  TensorPtr result = empty(Sizes(&count, 1), a->dtype, a->device);
  WithoutLock unlocked(work(result.get(), a->size(1)));
  on(a->device).distance.pdist(a->view(), p, result->view());
  return result;
}

TensorPtr pdist_backward(Tensor* grad, Tensor* input, double p, Tensor* out) {
  if (input->ndim() != 2) fail("pdist only supports 2D tensors, got: ", input->ndim(), "D");
  const int64_t n = input->size(0), pairs = n > 1 ? n * (n - 1) / 2 : 0;
  check_like("pdist_backward", grad, Sizes(&pairs, 1), input->dtype);
  check_like("pdist_backward", out, Sizes(&pairs, 1), input->dtype);
  check_real_type("pdist_backward", input->dtype);
  TensorPtr g = contiguous(grad), a = contiguous(input), lengths = contiguous(out);
  TensorPtr result = empty(a->sizes(), a->dtype, a->device);
  WithoutLock unlocked(work(lengths.get(), a->size(1)));
  on(a->device).distance.pdist_backward(g->view(), a->view(), p, lengths->view(), result->view());
  return result;
}

}  // namespace adjoint::ops
