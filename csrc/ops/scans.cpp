#include "ops/scans.h"

#include <algorithm>
#include <string>

#include "core/lock.h"
#include "cpu/parallel.h"
#include "cpu/scan.h"
#include "cpu/softmax.h"
#include "core/guard.h"

namespace adjoint::ops {
namespace {

constexpr int64_t kParallelElements = 1 << 15;

ShapePtr packed_shape(const Tensor* like) {
  return like->contiguous() ? ShapePtr::borrow(like->shape) : make_shape(like->sizes());
}

using Kernel = void (*)(const View& in, const View& out, int dim);

TensorPtr along(const Tensor* input, int64_t dim, DType dtype, Kernel kernel) {
  int axis = wrap_dim(dim, input->ndim());
  TensorPtr result = empty(packed_shape(input), dtype);
  WithoutLock unlocked(input->numel());
  kernel(input->view(), result->view(), axis);
  return result;
}

DType accumulated_type(const char* op, const Tensor* input, std::optional<DType> dtype) {
  if (dtype == DType::Bool)
    fail(ErrorKind::NotImplemented, "\"", op, "_out_cpu\" not implemented for 'Bool'; choose a dtype of numbers");
  return dtype ? *dtype : is_integral(input->dtype) ? DType::Int64 : input->dtype;
}

using LocatingKernel = void (*)(const View& in, const View& values, const View& indices, int dim);

std::pair<TensorPtr, TensorPtr> locate_along(const char* torch_name, const Tensor* input, int64_t dim,
                                             LocatingKernel kernel) {
  int axis = wrap_dim(dim, input->ndim());
  if (is_complex(input->dtype))
    fail(ErrorKind::NotImplemented, "\"", torch_name, "\" not implemented for '", info(input->dtype).legacy_name,
         "': complex numbers have no order; take .abs() or .real first");
  ShapePtr shape = packed_shape(input);
  TensorPtr values = empty(shape, input->dtype), indices = empty(shape, DType::Int64);
  WithoutLock unlocked(input->numel());
  kernel(input->view(), values->view(), indices->view(), axis);
  return {std::move(values), std::move(indices)};
}

template <class T>
void recur(const T* in, const T* weight, T* out, int64_t n, int64_t inner, bool reverse) {
  int64_t step = reverse ? -inner : inner;
  int64_t start = reverse ? (n - 1) * inner : 0;
  const T* x = in + start;
  // The weight between two neighbours stands at the later of them.
  const T* w = weight + start + (reverse ? 0 : inner);
  T* y = out + start;
  std::copy(x, x + inner, y);
  for (int64_t i = 1; i < n; ++i, w += step) {
    const T* previous = y;
    x += step;
    y += step;
    for (int64_t k = 0; k < inner; ++k) y[k] = x[k] + w[k] * previous[k];
  }
}

using Backward = void (*)(const View& g, const View& out, const View& gin, int dim);

/// The tensor itself, or a packed copy where its elements along the axis lie apart as those of the result do not.
TensorPtr packed_along(Tensor* tensor, int axis) {
  if (tensor->shape->contiguous || tensor->ndim() == 0) return TensorPtr::borrow(tensor);
  const int64_t stride = tensor->shape->strides()[axis];
  return stride == 0 || stride == 1 ? TensorPtr::borrow(tensor) : contiguous(tensor);
}

TensorPtr softmax_gradient(Tensor* grad, Tensor* output, int64_t dim, Backward kernel) {
  int axis = wrap_dim(dim, output->ndim());
  if (!same_sizes(grad->shape, output->shape))
    fail("softmax backward: expected a gradient of shape ", to_string(output->sizes()), "; got ",
         to_string(grad->sizes()));
  TensorPtr result = empty(packed_shape(output), output->dtype);
  TensorPtr g = packed_along(cast(grad, output->dtype).get(), axis), y = packed_along(output, axis);
  WithoutLock unlocked(output->numel());
  kernel(g->view(), y->view(), result->view(), axis);
  return result;
}

TensorPtr normalised(const char* op, Tensor* input, std::optional<int64_t> dim, std::optional<DType> dtype,
                     Kernel kernel) {
  if (!dim) {
    std::string warning = std::string("Implicit dimension choice for ") + op +
                          " has been deprecated. Change the call to include dim=X as an argument.";
    check(PyErr_WarnEx(PyExc_UserWarning, warning.c_str(), 1) == 0);
    dim = input->ndim() == 0 || input->ndim() == 1 || input->ndim() == 3 ? 0 : 1;
  }
  DType type = dtype.value_or(input->dtype);
  int axis = wrap_dim(*dim, input->ndim());
  bool last = axis == std::max(input->ndim() - 1, 0);
  if (!is_float(type))
    fail(ErrorKind::NotImplemented, "\"", op, last ? "_lastdim" : "", "_kernel_impl\" not implemented for '",
         info(type).legacy_name, "'; convert the input with .float(), or pass dtype=");
  // The kernel converts real types as it reads; casting a complex input drops what is imaginary.
  TensorPtr real = is_complex(input->dtype) ? cast(input, type) : TensorPtr::borrow(input);
  return along(packed_along(real.get(), axis).get(), *dim, type, kernel);
}

}  // namespace

TensorPtr cumsum(Tensor* input, int64_t dim, std::optional<DType> dtype) {
  return along(input, dim, accumulated_type("cumsum", input, dtype), cpu::cumsum);
}

TensorPtr reverse_cumsum(Tensor* input, int64_t dim) {
  int axis = wrap_dim(dim, input->ndim());
  TensorPtr result = empty(packed_shape(input), accumulated_type("cumsum", input, {}));
  if (result->numel() == 0) return result;
  // Both are walked from their ends.
  int64_t strides[2][kMaxDims];
  auto reversed = [axis](const Tensor* tensor, int64_t* steps) {
    View view = tensor->view();
    if (view.ndim == 0) return view;
    std::copy(view.strides, view.strides + view.ndim, steps);
    view.data += (view.sizes[axis] - 1) * steps[axis] * itemsize(view.dtype);
    steps[axis] = -steps[axis];
    view.strides = steps;
    return view;
  };
  View in = reversed(input, strides[0]), out = reversed(result.get(), strides[1]);
  WithoutLock unlocked(input->numel());
  cpu::cumsum(in, out, axis);
  return result;
}

TensorPtr cumprod(Tensor* input, int64_t dim, std::optional<DType> dtype) {
  return along(input, dim, accumulated_type("cumprod", input, dtype), cpu::cumprod);
}

TensorPtr logcumsumexp(Tensor* input, int64_t dim) {
  if (!is_differentiable(input->dtype))
    fail(ErrorKind::NotImplemented, "\"logcumsumexp_out_cpu\" not implemented for '", info(input->dtype).legacy_name,
         "'; convert the input to a floating type");
  return along(input, dim, input->dtype, cpu::logcumsumexp);
}

std::pair<TensorPtr, TensorPtr> cummax(Tensor* input, int64_t dim) {
  return locate_along("cummax_cpu", input, dim, cpu::cummax);
}
std::pair<TensorPtr, TensorPtr> cummin(Tensor* input, int64_t dim) {
  return locate_along("cummin_cpu", input, dim, cpu::cummin);
}

TensorPtr linear_recurrence(Tensor* input, Tensor* weight, int64_t dim, bool reverse) {
  int axis = wrap_dim(dim, input->ndim());
  if (!same_sizes(input->shape, weight->shape))
    fail("linear_recurrence: expected input and weight of one shape; got ", to_string(input->sizes()), " and ",
         to_string(weight->sizes()));
  DType type = promote(input->dtype, weight->dtype);
  if (!is_differentiable(type)) fail_not_implemented("linear_recurrence", type);
  DType compute = type == DType::Float16 || type == DType::BFloat16 ? DType::Float32 : type;
  TensorPtr x = cast(input, compute), w = cast(weight, compute);
  x = contiguous(x.get());
  w = contiguous(w.get());
  TensorPtr result = empty(packed_shape(x.get()), compute);
  if (x->numel() > 0) {
    int64_t n = x->ndim() == 0 ? 1 : x->size(axis), inner = 1;
    for (int d = axis + 1; d < x->ndim(); ++d) inner *= x->size(d);
    WithoutLock unlocked(x->numel());
    dispatch(compute, [&](auto tag) {
      using T = decltype(tag);
      if constexpr (std::is_floating_point_v<T> || is_complex_v<T>) {
        int64_t slice = n * inner;
        parallel_for(x->numel() / slice, std::max<int64_t>(1, kParallelElements / slice),
                     [&](int64_t begin, int64_t end) {
                       for (int64_t i = begin * slice; i < end * slice; i += slice)
                         recur(x->as<T>() + i, w->as<T>() + i, result->as<T>() + i, n, inner, reverse);
                     });
      }
    });
  }
  return cast(result.get(), type);
}

TensorPtr softmax(Tensor* input, std::optional<int64_t> dim, std::optional<DType> dtype, int64_t) {
  return normalised("softmax", input, dim, dtype, cpu::softmax);
}
TensorPtr log_softmax(Tensor* input, std::optional<int64_t> dim, std::optional<DType> dtype, int64_t) {
  return normalised("log_softmax", input, dim, dtype, cpu::log_softmax);
}
TensorPtr softmax_backward(Tensor* grad, Tensor* output, int64_t dim) {
  return softmax_gradient(grad, output, dim, cpu::softmax_backward);
}
TensorPtr log_softmax_backward(Tensor* grad, Tensor* output, int64_t dim) {
  return softmax_gradient(grad, output, dim, cpu::log_softmax_backward);
}

}  // namespace adjoint::ops
