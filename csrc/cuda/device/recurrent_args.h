// The parameter of the kernels of LSTM cells, as the program fills it and the device reads it.
#pragma once

#include <cstdint>

namespace adjoint::cuda {

/// One step. States are (batch, size), gates rows of i, f, g, o.
struct LstmArgs {
  int64_t numel, size;
  char* activated;  ///< the gates; before the forward their sums
  char *before, *cell, *hidden;
  // For the gradients.
  char *output_grad, *cells_grad, *hidden_grad, *cell_grad, *gates_grad;
  int32_t is_last;
};

}  // namespace adjoint::cuda
