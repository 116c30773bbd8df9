// Recurrent networks of several layers by a library of the device, and their gradients.
#pragma once

#include <optional>
#include <vector>

#include "core/tensor.h"

namespace adjoint::ops {

/// Output (row, directions * size), last hidden states, last cell states (of networks without these: no elements), and
/// what the gradients need if they are to be asked for (`keeps`). Arguments are those of kernels::NetworkInputs;
/// `batch_sizes` says how many sequences each step has, `rounds` is kernels::Network's.
std::vector<TensorPtr> recurrent_network(Tensor* input, Tensor* hidden, std::optional<Tensor*> cell, Tensor* weights,
                                         Tensor* lengths, const std::vector<int64_t>& batch_sizes, int64_t kind,
                                         bool is_bidirectional, bool is_biased, bool rounds, bool keeps);
/// The gradients of input, hidden, cell (none: no elements) and weights.
std::vector<TensorPtr> recurrent_network_gradients(Tensor* output_grad, Tensor* hidden_grad, Tensor* cell_grad,
                                                   Tensor* input, Tensor* hidden, std::optional<Tensor*> cell,
                                                   Tensor* weights, Tensor* lengths, Tensor* output, Tensor* reserve,
                                                   const std::vector<int64_t>& batch_sizes, int64_t kind,
                                                   bool is_bidirectional, bool is_biased, bool rounds);
/// Whether there is a library for such a network of these tensors.
bool takes_recurrent_network(const Tensor* input, const Tensor* hidden, const std::vector<int64_t>& batch_sizes,
                             int64_t kind, bool is_bidirectional, bool is_biased, bool rounds);

}  // namespace adjoint::ops
