#include "ops/class_losses.h"

#include "core/error.h"
#include "core/lock.h"
#include "kernels/backend.h"
#include "ops/memory.h"
#include "ops/views.h"

namespace adjoint::ops {
namespace {

/// Class indices laid over scores (N, C, ...) packed in memory.
class Targets {
 public:
  Targets(Tensor* target, Sizes scores, Device device, std::optional<Tensor*> weight, int64_t ignore_index)
      : target_(flat(target)), classes_{scores.size() > 1 ? scores[1] : 0, 1, ignore_index} {
    if (scores.size() < 2) fail("nll_loss: expected an input with a dimension of classes; got ", to_string(scores));
    if (target->dtype != DType::Int64) fail("expected scalar type Long but found ", info(target->dtype).legacy_name);
    if (weight) weight_ = flat(cast(*weight, DType::Float64).get());
    for (size_t d = 2; d < scores.size(); ++d) classes_.inner *= scores[d];
    if (target_->numel() != scores[0] * classes_.inner || (weight_ && weight_->numel() != classes_.count))
      fail("nll_loss: target or weight do not fit an input of shape ", to_string(scores));
    target_view_ = target_->view();
    if (weight_) weight_view_ = weight_->view();
    on(device).indexing.check_classes(target_view_, classes_);
  }
  const View& target() const { return target_view_; }
  const View* weight() const { return weight_ ? &weight_view_ : nullptr; }
  const kernels::Classes& classes() const { return classes_; }

 private:
  TensorPtr target_, weight_;
  View target_view_, weight_view_;
  kernels::Classes classes_;
};

kernels::LossReduction parse_loss_reduction(const std::string& reduction) {
  using kernels::LossReduction;
  return reduction == "none" ? LossReduction::None : reduction == "mean" ? LossReduction::Mean : LossReduction::Sum;
}

/// The loss, each for itself or one, and the sum of the weights, before they are computed.
std::pair<TensorPtr, TensorPtr> loss_and_total(Tensor* target, const std::string& reduction, DType dtype,
                                               Device device) {
  TensorPtr loss = reduction == "none" ? zeros(target->sizes(), dtype, device) : empty(scalar_shape(), dtype, device);
  return {std::move(loss), empty(scalar_shape(), dtype, device)};
}

void check_gradient(const char* op, Tensor* grad, Tensor* target, const std::string& reduction, Tensor* total_weight) {
  if (grad->numel() != (reduction == "none" ? target->numel() : 1) || total_weight->dtype != grad->dtype)
    fail(op, ": the gradient does not fit a target of shape ", to_string(target->sizes()));
}

void check_floating(const char* op, DType dtype) {
  if (!is_float(dtype)) fail_not_implemented(op, dtype);
}

}  // namespace

std::pair<TensorPtr, TensorPtr> nll_loss(Tensor* input, Tensor* target, std::optional<Tensor*> weight,
                                         int64_t ignore_index, const std::string& reduction) {
  Targets targets(target, input->sizes(), input->device, weight, ignore_index);
  check_floating("nll_loss_out_frame", input->dtype);
  TensorPtr scores = contiguous(input);
  auto [loss, total] = loss_and_total(target, reduction, input->dtype, input->device);
  on(input->device)
      .indexing.class_scores(scores->view(), targets.target(), targets.weight(), targets.classes(),
                             parse_loss_reduction(reduction), loss->view(), total->view());
  return {std::move(loss), std::move(total)};
}

TensorPtr nll_loss_backward(Tensor* grad, const Ints& size, Tensor* target, std::optional<Tensor*> weight,
                            int64_t ignore_index, const std::string& reduction, Tensor* total_weight) {
  Targets targets(target, size, grad->device, weight, ignore_index);
  check_gradient("nll_loss_backward", grad, target, reduction, total_weight);
  check_floating("nll_loss_backward", grad->dtype);
  TensorPtr result = zeros(size, grad->dtype, grad->device);
  TensorPtr g = contiguous(grad);
  on(grad->device)
      .indexing.class_scores_backward(g->view(), targets.target(), targets.weight(), targets.classes(),
                                      parse_loss_reduction(reduction), total_weight->view(), result->view());
  return result;
}

std::tuple<TensorPtr, TensorPtr, TensorPtr> cross_entropy(Tensor* input, Tensor* target, std::optional<Tensor*> weight,
                                                          int64_t ignore_index, const std::string& reduction,
                                                          bool wide) {
  if (input->ndim() != 2) fail("_cross_entropy: expected an input (N, C); got ", to_string(input->sizes()));
  Targets targets(target, input->sizes(), input->device, weight, ignore_index);
  check_floating("cross_entropy", input->dtype);
  const DType computed = compute_type(input->dtype);
  TensorPtr scores = contiguous(input);
  auto [loss, total] = loss_and_total(target, reduction, wide ? computed : input->dtype, input->device);
  const int64_t sizes[] = {input->size(0), 2};
  TensorPtr sums = empty(Sizes(sizes, 2), computed, input->device);
  WithoutLock unlocked(input->numel());
  on(input->device)
      .indexing.class_entropy(scores->view(), targets.target(), targets.weight(), targets.classes(),
                              parse_loss_reduction(reduction), loss->view(), total->view(), sums->view());
  return {std::move(loss), std::move(total), std::move(sums)};
}

TensorPtr cross_entropy_gradient(Tensor* grad, Tensor* input, Tensor* target, std::optional<Tensor*> weight,
                                 int64_t ignore_index, const std::string& reduction, Tensor* total_weight,
                                 Tensor* sums) {
  Targets targets(target, input->sizes(), input->device, weight, ignore_index);
  check_gradient("_cross_entropy_gradient", grad, target, reduction, total_weight);
  if (sums->numel() != 2 * input->size(0) || sums->dtype != compute_type(input->dtype))
    fail("_cross_entropy_gradient: expected what _cross_entropy knows of ", input->size(0), " rows; got ",
         to_string(sums->sizes()));
  TensorPtr g = contiguous(grad), scores = contiguous(input), known = contiguous(sums);
  TensorPtr result = empty(input->sizes(), input->dtype, input->device);
  WithoutLock unlocked(input->numel());
  on(input->device)
      .indexing.class_entropy_backward(g->view(), scores->view(), known->view(), targets.target(), targets.weight(),
                                       targets.classes(), parse_loss_reduction(reduction), total_weight->view(),
                                       result->view());
  return result;
}

bool prefers_cross_entropy(const Tensor* input) {
  return input->device.holds_values() && on(input->device).indexing.prefers_class_entropy();
}

}  // namespace adjoint::ops
