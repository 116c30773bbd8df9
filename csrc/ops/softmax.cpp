#include "ops/softmax.h"

#include <algorithm>
#include <string>

#include "core/lock.h"
#include "core/warning.h"
#include "kernels/backend.h"
#include "ops/memory.h"

namespace adjoint::ops {
namespace {

/// The tensor itself, or a packed copy where its elements along the axis lie apart as those of the result do not.
TensorPtr packed_along(Tensor* tensor, int axis) {
  if (tensor->shape->contiguous || tensor->ndim() == 0) return TensorPtr::borrow(tensor);
  const int64_t stride = tensor->shape->strides()[axis];
  return stride == 0 || stride == 1 ? TensorPtr::borrow(tensor) : contiguous(tensor);
}

TensorPtr softmax_gradient(Tensor* grad, Tensor* output, int64_t dim, kernels::Softmax::Gradient* kernel) {
  int axis = wrap_dim(dim, output->ndim());
  if (!same_sizes(grad->shape, output->shape))
    fail("softmax backward: expected a gradient of shape ", to_string(output->sizes()), "; got ",
         to_string(grad->sizes()));
  TensorPtr result = empty(packed_shape(output), output->dtype, output->device);
  TensorPtr g = packed_along(cast(grad, output->dtype).get(), axis), y = packed_along(output, axis);
  WithoutLock unlocked(output->numel());
  kernel(g->view(), y->view(), result->view(), axis);
  return result;
}

TensorPtr normalised(const char* op, Tensor* input, std::optional<int64_t> dim, std::optional<DType> dtype,
                     kernels::Softmax::Along* kernel) {
  if (!dim) {
    dim = input->ndim() == 0 || input->ndim() == 1 || input->ndim() == 3 ? 0 : 1;
    std::string warning =
        std::string("Implicit dimension choice for ") + op +
        " has been deprecated. Change the call to include dim=X as an argument; here dim=" + std::to_string(*dim) +
        " of " + to_string(input->sizes()) + " was taken.";
    warn(warning.c_str());
  }
  DType type = dtype.value_or(input->dtype);
  int axis = wrap_dim(*dim, input->ndim());
  bool last = axis == std::max(input->ndim() - 1, 0);
  if (!is_float(type))
    fail(ErrorKind::NotImplemented, "\"", op, last ? "_lastdim" : "", "_kernel_impl\" not implemented for '",
         info(type).legacy_name, "'; convert the input with .float(), or pass dtype=");
  // The kernel converts real types as it reads; casting a complex input drops what is imaginary.
  warn_if_imaginary_part_goes(category(input->dtype), type);
  TensorPtr real = is_complex(input->dtype) ? cast(input, type) : TensorPtr::borrow(input);
  TensorPtr source = packed_along(real.get(), axis);
  TensorPtr result = empty(packed_shape(source.get()), type, input->device);
  WithoutLock unlocked(input->numel());
  kernel(source->view(), result->view(), axis);
  return result;
}

}  // namespace

TensorPtr softmax(Tensor* input, std::optional<int64_t> dim, std::optional<DType> dtype, int64_t) {
  return normalised("softmax", input, dim, dtype, on(input->device).softmax.softmax);
}
TensorPtr log_softmax(Tensor* input, std::optional<int64_t> dim, std::optional<DType> dtype, int64_t) {
  return normalised("log_softmax", input, dim, dtype, on(input->device).softmax.log_softmax);
}
TensorPtr softmax_backward(Tensor* grad, Tensor* output, int64_t dim) {
  return softmax_gradient(grad, output, dim, on(grad->device).softmax.softmax_backward);
}
TensorPtr log_softmax_backward(Tensor* grad, Tensor* output, int64_t dim) {
  return softmax_gradient(grad, output, dim, on(grad->device).softmax.log_softmax_backward);
}

}  // namespace adjoint::ops
