// Runs of contiguous numbers reduced by vectors. See Note [Instruction sets] in cpu/isa.h.
#pragma once

#include <cstdint>

#include "cpu/isa.h"

namespace adjoint::cpu {

/// Of float, double, int64_t and int32_t.
template <class A>
struct ExtremeLoops {
  /// The greatest and the least of n > 0 elements; NaN if there is any.
  A (*greatest_of_run)(const A* x, int64_t n);
  A (*least_of_run)(const A* x, int64_t n);
  /// The same for each of `lanes` columns of n > 0 rows that are `step` elements apart.
  void (*greatest_of_rows)(const A* x, int64_t step, int64_t n, int64_t lanes, A* out);
  void (*least_of_rows)(const A* x, int64_t step, int64_t n, int64_t lanes, A* out);

  template <Isa>
  static ExtremeLoops compiled();
};

struct RangeLoops {
  /// Both ends of what n > 0 integers span, in one pass.
  void (*least_and_greatest)(const int64_t* x, int64_t n, int64_t* least, int64_t* greatest);

  template <Isa>
  static RangeLoops compiled();
};

struct PowerLoops {
  /// The sum of squares, in double.
  double (*squares_of_run)(const float* x, int64_t n);
  /// out[i] = |x[i]|^p
  void (*powers_of_run)(const double* x, int64_t n, double p, double* out);

  template <Isa>
  static PowerLoops compiled();
};

/// Of the same types.
template <class A>
struct TurnLoops {
  /// Turns short rows that lie one behind the other, so that their elements lie side by side: element k of row w goes
  /// to target[k * rows + w]. False where there is no loop for rows of n elements.
  bool (*rows)(const A* source, int64_t n, int64_t rows, A* target);

  template <Isa>
  static TurnLoops compiled();
};

}  // namespace adjoint::cpu
