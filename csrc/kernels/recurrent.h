// Recurrent networks: an LSTM over a whole sequence, and its gradients, in float32 and float64; and networks of all
// kinds as a library computes them.
#pragma once

#include <vector>

#include "core/view.h"

namespace adjoint::kernels {

/// In the order of cuDNN.
enum class RecurrentKind : int8_t { Relu, Tanh, Lstm, Gru };

/// A network of several layers, and the sequences for it.
struct Network {
  RecurrentKind kind;
  DType dtype;
  Device device;
  int64_t features, size, layers, directions;
  bool biased;
  /// Whether products of float32 may round their factors as TF32 does.
  bool rounds;
  /// How many sequences each step has: never more than the step before.
  std::vector<int64_t> batch_sizes;

  int64_t gates() const { return kind == RecurrentKind::Lstm ? 4 : kind == RecurrentKind::Gru ? 3 : 1; }
  /// The features of a layer's input.
  int64_t width(int64_t layer) const { return layer == 0 ? features : directions * size; }
  int64_t biases() const { return biased ? 2 * layers * directions * gates() * size : 0; }
  /// All of them.
  int64_t weights() const {
    int64_t sum = biases();
    for (int64_t layer = 0; layer < layers; ++layer) sum += directions * gates() * size * (width(layer) + size);
    return sum;
  }
};

/// All contiguous. The input is (row, features), where the rows of a step follow those of the step before; states are
/// (layer and direction, sequence, size), cell states only of LSTMs. The weights are one vector: of each layer and
/// direction the matrix for the input, then that for the hidden state, and after those of all layers the biases in the
/// same order. `lengths` (int32) has the number of steps of each sequence.
struct NetworkInputs {
  View input, hidden, cell, weights, lengths;
};

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

  /// Whether a device has a library for this network; without one the following are not called.
  bool (*takes_network)(const Network& of);
  /// How many bytes the forward keeps for the backward.
  int64_t (*network_reserve)(const Network& of);
  /// The output is (row, directions * size). Without memory for it (no bytes) nothing is kept.
  void (*network)(const Network& of, const NetworkInputs& in, const View& output, const View& last_hidden,
                  const View& last_cell, const View& reserve);
  /// The gradients of input, states and weights, into `grads`, from those of the results; writes over what was kept.
  void (*network_backward)(const Network& of, const NetworkInputs& in, const View& output, const View& output_grad,
                           const View& hidden_grad, const View& cell_grad, const View& reserve,
                           const NetworkInputs& grads);
};

}  // namespace adjoint::kernels
