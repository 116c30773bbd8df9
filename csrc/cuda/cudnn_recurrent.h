// Recurrent networks by cuDNN, where it is installed.
#pragma once

#include "kernels/recurrent.h"

namespace adjoint::cuda {

bool takes_network(const kernels::Network& of);
int64_t network_reserve(const kernels::Network& of);
void network(const kernels::Network& of, const kernels::NetworkInputs& in, const View& output, const View& last_hidden,
             const View& last_cell, const View& reserve);
void network_backward(const kernels::Network& of, const kernels::NetworkInputs& in, const View& output,
                      const View& output_grad, const View& hidden_grad, const View& cell_grad, const View& reserve,
                      const kernels::NetworkInputs& grads);

}  // namespace adjoint::cuda
