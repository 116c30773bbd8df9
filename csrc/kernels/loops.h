// What the generated loop files share: names by instruction set, and the entry of a registration table.
#pragma once

#include "kernels/elementwise.h"
#include "kernels/math.h"

#define ADJOINT_PASTE_(a, b) a##b
#define ADJOINT_PASTE(a, b) ADJOINT_PASTE_(a, b)
/// `prefix` followed by the instruction set this file is compiled for.
#define ADJOINT_ISA_NAME(prefix) ADJOINT_PASTE(prefix, ADJOINT_ISA)

namespace adjoint {

/// The arguments of register_loop, so that registration is a loop over a table.
struct LoopEntry {
  const char* name;
  ResultKind result;
  uint8_t inputs;
  uint8_t params;
  DType compute;
  Loop loop;

  void add() const { register_loop(name, result, inputs, params, compute, loop); }
};

}  // namespace adjoint
