// A whole sequence through one LSTM layer, and its gradients.
#pragma once

#include <tuple>

#include "core/tensor.h"

namespace adjoint::ops {

/// `gates` (step, batch, 4 size) is the input's part of the gates' sums, biases included; `weight` (4 size, size) is
/// the hidden state's. Returns the hidden states, the cell states, both (step, batch, size), and the activated gates.
std::tuple<TensorPtr, TensorPtr, TensorPtr> lstm_sequence(Tensor* gates, Tensor* hidden, Tensor* cell, Tensor* weight);

/// The gradients of `gates`, `hidden` and `cell`, from those of the results; the weight's follows from the first.
std::tuple<TensorPtr, TensorPtr, TensorPtr> lstm_sequence_gradients(Tensor* output_grad, Tensor* cells_grad,
                                                                    Tensor* cells, Tensor* activated, Tensor* cell,
                                                                    Tensor* weight);

}  // namespace adjoint::ops
