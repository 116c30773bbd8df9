#include "ops/loss_labels.h"

#include "core/lock.h"
#include "kernels/backend.h"
#include "ops/memory.h"

namespace adjoint::ops {
namespace {

DType checked_type(const char* kernel, DType dtype) {
  if (!is_float(dtype)) fail_not_implemented(kernel, dtype);
  return compute_type(dtype);
}

void check_matrices(const Tensor* input, const Tensor* target) {
  if (input->ndim() != 2 || !same_sizes(input->shape, target->shape) || target->dtype != DType::Int64)
    fail("inconsistent target size: ", to_string(target->sizes()), " for input of size: ", to_string(input->sizes()));
}

}  // namespace

std::pair<TensorPtr, TensorPtr> multilabel_margin_loss(Tensor* input, Tensor* target) {
  check_matrices(input, target);
  const auto& kernels = on(input->device).loss_labels;
  TensorPtr labels = contiguous(target);
  if (kernels.any_out_of_range(labels->view())) fail("argument #2 'target' is out of range");
  TensorPtr scores = contiguous(input, checked_type("multilabel_margin_loss_forward_out_frame", input->dtype));
  const int64_t rows = input->size(0);
  TensorPtr losses = empty(Sizes(&rows, 1), scores->dtype, input->device);
  TensorPtr is_label = empty(input->sizes(), DType::UInt8, input->device);
  {
    WithoutLock unlocked(input->numel());
    kernels.multilabel_margin(scores->view(), labels->view(), losses->view(), is_label->view());
  }
  return {cast(losses.get(), input->dtype), std::move(is_label)};
}

TensorPtr multilabel_margin_backward(Tensor* grad, Tensor* input, Tensor* target, Tensor* is_target) {
  check_matrices(input, target);
  const int64_t rows = input->size(0);
  if (grad->numel() != rows) fail("multilabel_margin_loss_backward: expected a gradient for each of ", rows, " rows");
  const DType compute = checked_type("multilabel_margin_loss_backward_out", input->dtype);
  TensorPtr labels = contiguous(target), marks = contiguous(is_target);
  TensorPtr scores = contiguous(input, compute), g = contiguous(grad, compute);
  TensorPtr result = empty(input->sizes(), compute, input->device);
  {
    WithoutLock unlocked(input->numel());
    on(input->device)
        .loss_labels.multilabel_margin_backward(g->view(), scores->view(), labels->view(), marks->view(),
                                                result->view());
  }
  return cast(result.get(), input->dtype);
}

}  // namespace adjoint::ops
