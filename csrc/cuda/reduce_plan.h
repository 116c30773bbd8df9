// How a reduction is shared out among blocks and threads.
#pragma once

#include <string>

#include "core/view.h"
#include "cuda/device/reduce_args.h"

namespace adjoint::cuda {

/// A reduction of `in` to the shape of the outputs, which have size 1 where a dimension is reduced.
struct Reduction {
  std::string op;                       ///< its kind, as device code calls it: "Monoid<Add, float, float, float>"
  const char* header = "reduce_ops.h";  ///< where the kind is written
  const View* in = nullptr;
  const View* outs[2] = {nullptr, nullptr};  ///< of which one may be null
  int64_t unit = 1;                          ///< elements of a second input must be loaded in packets this narrow, too
  ReduceArgs args = {};                      ///< what only the kind knows: numbers, more inputs
};

/// Whether a view has no more dimensions than kernels take, whatever is reduced.
bool can_reduce(const View& in, const View& out);
void launch_reduction(Reduction& reduction);

/// The least power of two that is no less.
inline int64_t power_of_two(int64_t n) {
  int64_t power = 1;
  while (power < n) power *= 2;
  return power;
}

}  // namespace adjoint::cuda
