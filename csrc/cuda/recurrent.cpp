// LSTMs: a product of matrices for each step, and one kernel for all that follows it.
#include "cuda/recurrent.h"

#include <string>

#include "cuda/device/recurrent_args.h"
#include "cuda/launch.h"
#include "cuda/matmul.h"
#include "cuda/memory.h"

namespace adjoint::cuda {
namespace {

const Scalar kOne = Scalar::of(int64_t{1}), kZero = Scalar::of(int64_t{0});

/// The matrix of one step of a sequence.
View step_of(const View& sequence, int64_t step) {
  View view{sequence.data, sequence.dtype, 2, sequence.sizes + 1, sequence.strides + 1, sequence.device};
  return view.shifted(step * view.numel());
}

Function function_for(const char* name, const View& like) {
  return compiled(like.device.index,
                  std::string("#include \"recurrent.h\"\nusing namespace adjoint;\nusing namespace ") +
                      "adjoint::cuda;\nADJOINT_KERNEL(LstmArgs, 256) { " + name + '<' + device_type(like.dtype) +
                      ">(args); }\n");
}

}  // namespace

void lstm(const View& gates, const View& hidden, const View& cell, const View& weight, const View& output,
          const View& cells, const View& activated) {
  const int64_t sizes[] = {weight.sizes[1], weight.sizes[0]}, strides[] = {weight.strides[1], weight.strides[0]};
  const View transposed = {weight.data, weight.dtype, 2, sizes, strides, weight.device};
  copy(gates, activated);
  const Function function = function_for("lstm_forward", gates);
  View before_hidden = hidden, before_cell = cell;
  LstmArgs args{};
  args.size = weight.sizes[1];
  args.numel = gates.sizes[1] * args.size;
  for (int64_t t = 0; t < gates.sizes[0]; ++t) {
    const View sums = step_of(activated, t), now = step_of(output, t), state = step_of(cells, t);
    gemm(before_hidden, transposed, sums, kOne, kOne);
    args.activated = sums.data;
    args.before = before_cell.data;
    args.cell = state.data;
    args.hidden = now.data;
    launch(gates.device, function, &args, blocks_for(args.numel));
    before_hidden = now;
    before_cell = state;
  }
}

void lstm_backward(const View& output_grad, const View& cells_grad, const View& cells, const View& activated,
                   const View& cell, const View& weight, const View& gates_grad, const View& hidden_grad,
                   const View& cell_grad) {
  const Function function = function_for("lstm_backward", activated);
  const int64_t steps = activated.sizes[0];
  if (steps == 0) {
    clear(hidden_grad);
    clear(cell_grad);
  }
  LstmArgs args{};
  args.size = weight.sizes[1];
  args.numel = activated.sizes[1] * args.size;
  args.hidden_grad = hidden_grad.data;
  args.cell_grad = cell_grad.data;
  for (int64_t t = steps - 1; t >= 0; --t) {
    const View sums = step_of(gates_grad, t);
    args.is_last = t == steps - 1;
    args.activated = step_of(activated, t).data;
    args.before = t > 0 ? step_of(cells, t - 1).data : cell.data;
    args.cell = step_of(cells, t).data;
    args.output_grad = step_of(output_grad, t).data;
    args.cells_grad = step_of(cells_grad, t).data;
    args.gates_grad = sums.data;
    launch(activated.device, function, &args, blocks_for(args.numel));
    gemm(sums, weight, hidden_grad, kOne, kZero);
  }
}

}  // namespace adjoint::cuda
