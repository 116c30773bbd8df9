// One step of a batch of LSTM cells: a thread has one element of the state, and the four gates of it.
#pragma once

#include "core/dtype.h"
#include "kernel.h"
#include "recurrent_args.h"

namespace adjoint::cuda {

/// The numbers of a thread's element in the state and of its first gate; the others lie `size` apart.
struct CellPlace {
  int64_t state, gate;
  explicit CellPlace(const LstmArgs& args) : state(thread_number<int64_t>()) {
    gate = state / args.size * 4 * args.size + state % args.size;
  }
};

template <class T>
inline T sigmoid(T x) {
  return T(1) / (T(1) + std::exp(-x));
}

template <class T>
inline void lstm_forward(const LstmArgs& args) {
  const CellPlace at(args);
  if (at.state >= args.numel) return;
  T* gates = reinterpret_cast<T*>(args.activated) + at.gate;
  const T i = sigmoid(gates[0]), f = sigmoid(gates[args.size]), g = std::tanh(gates[2 * args.size]);
  const T o = sigmoid(gates[3 * args.size]);
  gates[0] = i;
  gates[args.size] = f;
  gates[2 * args.size] = g;
  gates[3 * args.size] = o;
  const T cell = f * reinterpret_cast<const T*>(args.before)[at.state] + i * g;
  reinterpret_cast<T*>(args.cell)[at.state] = cell;
  reinterpret_cast<T*>(args.hidden)[at.state] = o * std::tanh(cell);
}

/// From the gradients of the hidden and of the cell state: those of the gates' sums, and of the state that was, which
/// takes the place of the cell's. The first step from behind has nothing behind it.
template <class T>
inline void lstm_backward(const LstmArgs& args) {
  const CellPlace at(args);
  if (at.state >= args.numel) return;
  const T* gates = reinterpret_cast<const T*>(args.activated) + at.gate;
  const T i = gates[0], f = gates[args.size], g = gates[2 * args.size], o = gates[3 * args.size];
  T hidden_grad = reinterpret_cast<const T*>(args.output_grad)[at.state];
  T cell_grad = reinterpret_cast<const T*>(args.cells_grad)[at.state];
  if (!args.is_last) {
    hidden_grad += reinterpret_cast<const T*>(args.hidden_grad)[at.state];
    cell_grad += reinterpret_cast<const T*>(args.cell_grad)[at.state];
  }
  const T bent = std::tanh(reinterpret_cast<const T*>(args.cell)[at.state]);
  const T slope = cell_grad + hidden_grad * o * (T(1) - bent * bent);
  T* out = reinterpret_cast<T*>(args.gates_grad) + at.gate;
  out[0] = slope * g * i * (T(1) - i);
  out[args.size] = slope * reinterpret_cast<const T*>(args.before)[at.state] * f * (T(1) - f);
  out[2 * args.size] = slope * i * (T(1) - g * g);
  out[3 * args.size] = hidden_grad * bent * o * (T(1) - o);
  reinterpret_cast<T*>(args.cell_grad)[at.state] = slope * f;
}

}  // namespace adjoint::cuda
