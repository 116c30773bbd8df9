#include "ops/ctc.h"

#include <algorithm>
#include <vector>

#include "core/lock.h"
#include "kernels/backend.h"
#include "ops/memory.h"

namespace adjoint::ops {
namespace {

/// Checked lengths and labels.
struct Sequences {
  int64_t times, batch, classes, blank, states = 1;
  TensorPtr labels;
  std::vector<int64_t> lengths, label_counts, label_starts;

  Sequences(const Tensor* scores, Tensor* targets, Tensor* input_lengths, Tensor* target_lengths, int64_t blank)
      : blank(blank) {
    const char* where = " (while checking arguments for ctc_loss_allocate_outputs)";
    if (scores->ndim() != 3)
      fail("Expected 3-dimensional tensor, but got ", scores->ndim(), "-dimensional tensor for argument #1 'log_probs'",
           where);
    times = scores->size(0), batch = scores->size(1), classes = scores->size(2);
    if (blank < 0 || blank >= classes) fail("blank must be in label range");
    if (targets->ndim() < 1 || targets->ndim() > 2)
      fail("Expected 1 to 2 dimensions, but got ", targets->ndim(), "-dimensional tensor for argument #2 'targets'",
           where);
    lengths = numbers("input_lengths", input_lengths);
    label_counts = numbers("target_lengths", target_lengths);
    for (int64_t length : lengths) {
      if (length < 0) fail("Expected input_lengths to have value at least 0, but got value ", length, where);
      if (length > times)
        fail("Expected input_lengths to have value at most ", times, ", but got value ", length, where);
    }
    labels = contiguous(targets, DType::Int64);
    if (labels->device != scores->device && labels->device.holds_values() && scores->device.holds_values()) {
      TensorPtr moved = empty(labels->sizes(), DType::Int64, scores->device);
      copy_into(labels.get(), moved.get());
      labels = std::move(moved);
    }
    bool rows = targets->ndim() == 2;
    if (rows && targets->size(0) != batch)
      fail("Expected tensor to have size ", batch, " at dimension 0, but got size ", targets->size(0),
           " for argument #2 'targets'", where);
    int64_t most = 0, total = 0;
    for (int64_t n = 0; n < batch; ++n) {
      if (label_counts[n] < 0)
        fail("Expected target_lengths to have value at least 0, but got value ", label_counts[n], where);
      most = std::max(most, label_counts[n]);
      label_starts.push_back(rows ? n * targets->size(1) : total);
      total += label_counts[n];
    }
    if (rows && targets->size(1) < most)
      fail("Expected tensor to have size at least ", most, " at dimension 1, but got size ", targets->size(1),
           " for argument #2 'targets'", where);
    if (!rows && targets->size(0) != total)
      fail("Expected tensor to have size ", total, " at dimension 0, but got size ", targets->size(0),
           " for argument #2 'targets'", where);
    if (auto wrong = on(scores->device).ctc.wrong_label(shape(), labels->view()))
      fail("ctc_loss: expected labels from 0 to ", classes - 1, "; got ", wrong->label, " in sequence ",
           wrong->sequence);
    states = 2 * most + 1;
  }

  kernels::CtcShape shape() const {
    return {times, batch, classes, blank, states, lengths.data(), label_counts.data(), label_starts.data()};
  }

 private:
  std::vector<int64_t> numbers(const char* name, Tensor* tensor) const {
    if (!is_integral(tensor->dtype)) fail(name, " must be integral");
    if (tensor->ndim() != 1 || tensor->numel() != batch) fail(name, " must be of size batch_size");
    std::vector<int64_t> values(static_cast<size_t>(batch));
    const int64_t step = 1;
    on(tensor->device)
        .memory.to_host(tensor->view(), {reinterpret_cast<char*>(values.data()), DType::Int64, 1, &batch, &step});
    return values;
  }
};

void check_real(DType dtype) {
  if (dtype != DType::Float32 && dtype != DType::Float64) fail_not_implemented("ctc_loss_cpu", dtype);
}

}  // namespace

std::pair<TensorPtr, TensorPtr> ctc_loss(Tensor* log_probs, Tensor* targets, Tensor* input_lengths,
                                         Tensor* target_lengths, int64_t blank, bool) {
  Sequences all(log_probs, targets, input_lengths, target_lengths, blank);
  TensorPtr scores = contiguous(log_probs);
  const int64_t sizes[] = {all.batch, all.times, all.states};
  check_real(scores->dtype);
  TensorPtr losses = empty(Sizes(sizes, 1), scores->dtype, scores->device);
  TensorPtr alpha = empty(Sizes(sizes, 3), scores->dtype, scores->device);
  WithoutLock unlocked(alpha->numel() * 8);
  on(scores->device).ctc.loss(all.shape(), scores->view(), all.labels->view(), losses->view(), alpha->view());
  return {std::move(losses), std::move(alpha)};
}

TensorPtr ctc_loss_backward(Tensor* grad, Tensor* log_probs, Tensor* targets, Tensor* input_lengths,
                            Tensor* target_lengths, Tensor* losses, Tensor* log_alpha, int64_t blank,
                            bool zero_infinity) {
  Sequences all(log_probs, targets, input_lengths, target_lengths, blank);
  TensorPtr scores = contiguous(log_probs), g = contiguous(grad), loss = contiguous(losses),
            alpha = contiguous(log_alpha);
  if (g->numel() != all.batch || loss->numel() != all.batch || alpha->numel() != all.batch * all.times * all.states ||
      g->dtype != scores->dtype)
    fail("ctc_loss_backward: the gradient or the saved values do not fit the scores");
  check_real(scores->dtype);
  TensorPtr result = empty(scores->sizes(), scores->dtype, scores->device);
  WithoutLock unlocked(alpha->numel() * 8);
  on(scores->device)
      .ctc.backward(all.shape(), g->view(), scores->view(), all.labels->view(), loss->view(), alpha->view(),
                    zero_infinity, result->view());
  return result;
}

}  // namespace adjoint::ops
