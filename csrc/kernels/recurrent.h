// Recurrent networks: an LSTM over a whole sequence, and its gradients; float32 and float64.
#pragma once

#include "core/view.h"

namespace adjoint::kernels {

/// Sequences are contiguous, (step, batch, width): gates have rows of i, f, g, o (4 * size elements), everything else
/// has rows of `size`. States are (batch, size), the weight is (4 * size, size).
struct Recurrent {
  /// `gates` are the input's part of the gates' sums; `cell` is contiguous, `hidden` and `weight` have any strides.
  /// `activated` gets the gates as they were used.
  void (*lstm)(const View& gates, const View& hidden, const View& cell, const View& weight, const View& output,
               const View& cells, const View& activated);
  /// The gradients of the gates' sums and of the first states, which are contiguous.
  void (*lstm_backward)(const View& output_grad, const View& cells_grad, const View& cells, const View& activated,
                        const View& cell, const View& weight, const View& gates_grad, const View& hidden_grad,
                        const View& cell_grad);
};

}  // namespace adjoint::kernels
