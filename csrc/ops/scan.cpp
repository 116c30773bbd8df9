#include "ops/scan.h"

#include <algorithm>

#include "core/lock.h"
#include "core/warning.h"
#include "kernels/backend.h"
#include "ops/memory.h"

namespace adjoint::ops {
namespace {

TensorPtr along(const Tensor* input, int64_t dim, DType dtype, kernels::Scan::Along* kernel) {
  int axis = wrap_dim(dim, input->ndim());
  TensorPtr result = empty(packed_shape(input), dtype, input->device);
  WithoutLock unlocked(input->numel());
  kernel(input->view(), result->view(), axis);
  return result;
}

DType accumulated_type(const char* op, const Tensor* input, std::optional<DType> dtype) {
  if (dtype == DType::Bool)
    fail(ErrorKind::NotImplemented, "\"", op, "_out_cpu\" not implemented for 'Bool'; choose a dtype of numbers");
  if (dtype) warn_if_imaginary_part_goes(category(input->dtype), *dtype);
  return dtype ? *dtype : is_integral(input->dtype) ? DType::Int64 : input->dtype;
}

std::pair<TensorPtr, TensorPtr> locate_along(const char* torch_name, const Tensor* input, int64_t dim,
                                             kernels::Scan::Locating* kernel) {
  int axis = wrap_dim(dim, input->ndim());
  if (is_complex(input->dtype))
    fail(ErrorKind::NotImplemented, "\"", torch_name, "\" not implemented for '", info(input->dtype).legacy_name,
         "': complex numbers have no order; take .abs() or .real first");
  ShapePtr shape = packed_shape(input);
  TensorPtr values = empty(shape, input->dtype, input->device), indices = empty(shape, DType::Int64, input->device);
  WithoutLock unlocked(input->numel());
  kernel(input->view(), values->view(), indices->view(), axis);
  return {std::move(values), std::move(indices)};
}

}  // namespace

TensorPtr cumsum(Tensor* input, int64_t dim, std::optional<DType> dtype) {
  return along(input, dim, accumulated_type("cumsum", input, dtype), on(input->device).scan.cumsum);
}

TensorPtr reverse_cumsum(Tensor* input, int64_t dim) {
  int axis = wrap_dim(dim, input->ndim());
  TensorPtr result = empty(packed_shape(input), accumulated_type("cumsum", input, {}), input->device);
  if (result->numel() == 0) return result;
  // Both are walked from their ends.
  int64_t strides[2][kMaxDims];
  auto reversed = [axis](const Tensor* tensor, int64_t* steps) {
    View view = tensor->view();
    if (view.ndim == 0) return view;
    std::copy(view.strides, view.strides + view.ndim, steps);
    view = view.shifted((view.sizes[axis] - 1) * steps[axis]);
    steps[axis] = -steps[axis];
    view.strides = steps;
    return view;
  };
  View in = reversed(input, strides[0]), out = reversed(result.get(), strides[1]);
  WithoutLock unlocked(input->numel());
  on(input->device).scan.cumsum(in, out, axis);
  return result;
}

TensorPtr cumprod(Tensor* input, int64_t dim, std::optional<DType> dtype) {
  return along(input, dim, accumulated_type("cumprod", input, dtype), on(input->device).scan.cumprod);
}

TensorPtr logcumsumexp(Tensor* input, int64_t dim) {
  if (!is_differentiable(input->dtype))
    fail(ErrorKind::NotImplemented, "\"logcumsumexp_out_cpu\" not implemented for '", info(input->dtype).legacy_name,
         "'; convert the input to a floating type");
  return along(input, dim, input->dtype, on(input->device).scan.logcumsumexp);
}

std::pair<TensorPtr, TensorPtr> cummax(Tensor* input, int64_t dim) {
  return locate_along("cummax_cpu", input, dim, on(input->device).scan.cummax);
}
std::pair<TensorPtr, TensorPtr> cummin(Tensor* input, int64_t dim) {
  return locate_along("cummin_cpu", input, dim, on(input->device).scan.cummin);
}

TensorPtr linear_recurrence(Tensor* input, Tensor* weight, int64_t dim, bool reverse) {
  int axis = wrap_dim(dim, input->ndim());
  if (!same_sizes(input->shape, weight->shape))
    fail("linear_recurrence: expected input and weight of one shape; got ", to_string(input->sizes()), " and ",
         to_string(weight->sizes()));
  DType type = promote(input->dtype, weight->dtype);
  if (!is_differentiable(type)) fail_not_implemented("linear_recurrence", type);
  DType compute = compute_type(type);
  TensorPtr x = contiguous(input, compute), w = contiguous(weight, compute);
  TensorPtr result = empty(packed_shape(x.get()), compute, x->device);
  {
    WithoutLock unlocked(x->numel());
    on(x->device).scan.recur(x->view(), w->view(), result->view(), axis, reverse);
  }
  return cast(result.get(), type);
}

}  // namespace adjoint::ops
