#include "ops/recurrent.h"

#include <cstring>

#include "core/lock.h"
#include "cpu/matmul.h"
#include "cpu/recurrent.h"
#include "ops/memory.h"

namespace adjoint::ops {
namespace {

/// The sizes of a sequence, and its steps as matrices.
struct Sequence {
  int64_t steps, batch, size;
  DType dtype;

  Sequence(const Tensor* gates, const Tensor* weight) : dtype(gates->dtype) {
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
    return empty(Sizes(sizes, 3), dtype);
  }
  TensorPtr make_state() const {
    int64_t sizes[] = {batch, size};
    return empty(Sizes(sizes, 2), dtype);
  }
  cpu::LstmCell cell() const { return {dtype, batch, size}; }
  int64_t work() const { return steps * batch * size; }
};

/// One step of a contiguous (step, batch, width) tensor.
class Step {
 public:
  Step(Tensor* whole, int64_t step)
      : sizes_{whole->size(1), whole->size(2)},
        strides_{whole->size(2), 1},
        data_(whole->data + step * sizes_[0] * sizes_[1] * itemsize(whole->dtype)),
        dtype_(whole->dtype) {}
  View view() const { return {data_, dtype_, 2, sizes_, strides_}; }
  char* data() const { return data_; }

 private:
  int64_t sizes_[2], strides_[2];
  char* data_;
  DType dtype_;
};

/// A matrix seen with its dimensions exchanged.
struct Transposed {
  int64_t sizes[2], strides[2];
  View view;
  explicit Transposed(const Tensor* matrix)
      : sizes{matrix->size(1), matrix->size(0)},
        strides{matrix->stride(1), matrix->stride(0)},
        view{matrix->data, matrix->dtype, 2, sizes, strides} {}
};

const Scalar kOne = Scalar::of(int64_t{1});

}  // namespace

std::tuple<TensorPtr, TensorPtr, TensorPtr> lstm_sequence(Tensor* gates, Tensor* hidden, Tensor* cell, Tensor* weight) {
  Sequence sequence(gates, weight);
  sequence.check_state("hidden", hidden);
  sequence.check_state("cell", cell);
  for (Tensor* tensor : {hidden, cell, weight}) sequence.check_type(tensor);
  TensorPtr first_cell = contiguous(cell), source = contiguous(gates);
  TensorPtr output = sequence.make(sequence.size), cells = sequence.make(sequence.size);
  TensorPtr activated = sequence.make(4 * sequence.size);
  Transposed by(weight);
  View before_hidden = hidden->view();
  const char* before_cell = first_cell->data;
  WithoutLock unlocked(sequence.work());
  std::memcpy(activated->data, source->data, static_cast<size_t>(source->numel() * itemsize(sequence.dtype)));
  for (int64_t t = 0; t < sequence.steps; ++t) {
    Step sums(activated.get(), t), now(output.get(), t), state(cells.get(), t);
    cpu::gemm(before_hidden, by.view, sums.view(), kOne, kOne);
    sequence.cell().forward(sums.data(), before_cell, state.data(), now.data());
    before_cell = state.data();
    // The next step reads this one's result; sizes and strides are those of every step.
    before_hidden = {now.data(), sequence.dtype, 2, output->shape->sizes() + 1, output->shape->strides() + 1};
  }
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
  const auto bytes = static_cast<size_t>(hidden_grad->numel() * itemsize(sequence.dtype));
  const int64_t elements = hidden_grad->numel();
  WithoutLock unlocked(sequence.work());
  std::memset(hidden_grad->data, 0, bytes);
  std::memset(cell_grad->data, 0, bytes);
  auto add = [&](Tensor* into, const char* more) {
    auto sum = [&]<class T>(T* to) {
      const T* from = reinterpret_cast<const T*>(more);
      for (int64_t i = 0; i < elements; ++i) to[i] += from[i];
    };
    if (sequence.dtype == DType::Float32) {
      sum(into->as<float>());
    } else {
      sum(into->as<double>());
    }
  };
  for (int64_t t = sequence.steps - 1; t >= 0; --t) {
    Step sums(gates_grad.get(), t), now(active.get(), t), state(states.get(), t);
    add(hidden_grad.get(), Step(from_output.get(), t).data());
    add(cell_grad.get(), Step(from_cells.get(), t).data());
    const char* before = t > 0 ? Step(states.get(), t - 1).data() : first_cell->data;
    sequence.cell().backward(now.data(), before, state.data(), hidden_grad->data, cell_grad->data, sums.data());
    cpu::gemm(sums.view(), weight->view(), hidden_grad->view());
  }
  return {std::move(gates_grad), std::move(hidden_grad), std::move(cell_grad)};
}

}  // namespace adjoint::ops
