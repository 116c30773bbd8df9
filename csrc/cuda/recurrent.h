// LSTMs on a device; kernels/recurrent.h says what each function does.
#pragma once

#include "core/view.h"

namespace adjoint::cuda {

void lstm(const View& gates, const View& hidden, const View& cell, const View& weight, const View& output,
          const View& cells, const View& activated);
void lstm_backward(const View& output_grad, const View& cells_grad, const View& cells, const View& activated,
                   const View& cell, const View& weight, const View& gates_grad, const View& hidden_grad,
                   const View& cell_grad);

}  // namespace adjoint::cuda
