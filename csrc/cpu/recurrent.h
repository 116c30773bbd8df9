// The arithmetic of an LSTM cell on a batch, forward and backward; float32 and float64.
#pragma once

#include "kernels/view.h"

namespace adjoint::cpu {

/// One step of a batch of LSTM cells. All memory is contiguous: `gates` has rows of i, f, g, o (4 * size elements),
/// everything else rows of `size`.
struct LstmCell {
  DType dtype;
  int64_t batch, size;

  /// Puts the activated gates in the place of the sums `gates`; from `before`, the cell state that was, follow `cell`
  /// and `hidden`.
  void forward(char* gates, const char* before, char* cell, char* hidden) const;
  /// From the gradients of the hidden and of the cell state: those of the gates' sums, and of the state that was, which
  /// takes the place of `cell_grad`.
  void backward(const char* activated, const char* before, const char* cell, const char* hidden_grad, char* cell_grad,
                char* gates_grad) const;
};

}  // namespace adjoint::cpu
