// The loops of a batch of LSTM cells. See Note [Instruction sets] in cpu/isa.h.
#pragma once

#include <cstdint>

#include "cpu/isa.h"

namespace adjoint::cpu {

/// Rows of n elements, of float or double; those of gates have i, f, g, o after each other, 4 n elements.
template <class T>
struct LstmLoops {
  /// Puts the activated gates in the place of their sums; from `before`, the cell state that was, follow `cell` and
  /// `hidden`.
  void (*forward)(T* gates, const T* before, T* cell, T* hidden, int64_t rows, int64_t n);
  /// The gradients of the gates' sums, and of the state that was in the place of `cell_grad`.
  void (*backward)(const T* activated, const T* before, const T* cell, const T* hidden_grad, T* cell_grad,
                   T* gates_grad, int64_t rows, int64_t n);

  template <Isa>
  static LstmLoops compiled();
};

}  // namespace adjoint::cpu
