#include "ops/recurrent.h"

#include "core/lock.h"
#include "kernels/backend.h"
#include "ops/memory.h"

namespace adjoint::ops {
namespace {

/// The sizes of a sequence.
struct Sequence {
  int64_t steps, batch, size;
  DType dtype;
  Device device;

  Sequence(const Tensor* gates, const Tensor* weight) : dtype(gates->dtype), device(gates->device) {
    if (gates->ndim() != 3 || weight->ndim() != 2 || weight->size(0) != 4 * weight->size(1) ||
        gates->size(2) != weight->size(0))
      fail("lstm: expected gates of shape (step, batch, 4 * size) and a weight of shape (4 * size, size); got ",
           to_string(gates->sizes()), " and ", to_string(weight->sizes()));
    if (dtype != DType::Float32 && dtype != DType::Float64) fail_not_implemented("lstm", dtype);
    steps = gates->size(0);
    batch = gates->size(1);
    size = weight->size(1);
  }

  /// A tensor with a row of `width` for each step and member of the batch, in memory in this order.
  TensorPtr rows(Tensor* tensor, int64_t width) const {
    if (tensor->ndim() != 3 || tensor->size(0) != steps || tensor->size(1) != batch || tensor->size(2) != width)
      fail("lstm: expected shape [", steps, ", ", batch, ", ", width, "]; got ", to_string(tensor->sizes()));
    check_type(tensor);
    return contiguous(tensor);
  }
  void check_state(const char* name, const Tensor* state) const {
    if (state->ndim() != 2 || state->size(0) != batch || state->size(1) != size)
      fail("lstm: expected ", name, " of shape [", batch, ", ", size, "]; got ", to_string(state->sizes()));
  }
  void check_type(const Tensor* tensor) const {
    if (tensor->dtype != dtype)
      fail("lstm: expected one type for input, states and weights; got ", info(dtype).name, " and ",
           info(tensor->dtype).name);
  }

  TensorPtr make(int64_t width) const {
    int64_t sizes[] = {steps, batch, width};
    return empty(Sizes(sizes, 3), dtype, device);
  }
  TensorPtr make_state() const {
    int64_t sizes[] = {batch, size};
    return empty(Sizes(sizes, 2), dtype, device);
  }
  int64_t work() const { return steps * batch * size; }
};

}  // namespace

std::tuple<TensorPtr, TensorPtr, TensorPtr> lstm_sequence(Tensor* gates, Tensor* hidden, Tensor* cell, Tensor* weight) {
  Sequence sequence(gates, weight);
  sequence.check_state("hidden", hidden);
  sequence.check_state("cell", cell);
  for (Tensor* tensor : {hidden, cell, weight}) sequence.check_type(tensor);
  TensorPtr first_cell = contiguous(cell), source = contiguous(gates);
  TensorPtr output = sequence.make(sequence.size), cells = sequence.make(sequence.size);
  TensorPtr activated = sequence.make(4 * sequence.size);
  WithoutLock unlocked(sequence.work());
  on(gates->device)
      .recurrent.lstm(source->view(), hidden->view(), first_cell->view(), weight->view(), output->view(), cells->view(),
                      activated->view());
  return {std::move(output), std::move(cells), std::move(activated)};
}

std::tuple<TensorPtr, TensorPtr, TensorPtr> lstm_sequence_gradients(Tensor* output_grad, Tensor* cells_grad,
                                                                    Tensor* cells, Tensor* activated, Tensor* cell,
                                                                    Tensor* weight) {
  Sequence sequence(activated, weight);
  sequence.check_state("cell", cell);
  for (Tensor* tensor : {cell, weight}) sequence.check_type(tensor);
  TensorPtr from_output = sequence.rows(output_grad, sequence.size), states = sequence.rows(cells, sequence.size);
  TensorPtr from_cells = sequence.rows(cells_grad, sequence.size), active = sequence.rows(activated, 4 * sequence.size);
  TensorPtr first_cell = contiguous(cell);
  TensorPtr gates_grad = sequence.make(4 * sequence.size);
  TensorPtr hidden_grad = sequence.make_state(), cell_grad = sequence.make_state();
  WithoutLock unlocked(sequence.work());
  on(activated->device)
      .recurrent.lstm_backward(from_output->view(), from_cells->view(), states->view(), active->view(),
                               first_cell->view(), weight->view(), gates_grad->view(), hidden_grad->view(),
                               cell_grad->view());
  return {std::move(gates_grad), std::move(hidden_grad), std::move(cell_grad)};
}

}  // namespace adjoint::ops
