// The parameter of kernels that pick elements under a mask, in order.
#pragma once

#include "fault.h"
#include "walk_args.h"

namespace adjoint::cuda {

inline constexpr int kMaskThreads = 256, kMaskRounds = 16;
inline constexpr int64_t kMaskTile = kMaskThreads * kMaskRounds;  ///< elements of a block

/// The walk is over the mask and, where there is one, the view that it masks.
struct MaskArgs {
  const char* mask;
  char* view;
  char* flat;       ///< the elements one after the other, or rows of coordinates
  int64_t* starts;  ///< how many are before each tile, or how many it has; null: there is one tile
  int64_t flat_size, flat_step, column_step;
  FaultRecord fault;
  int64_t words;  ///< of a fault: their address in the program's memory
  int32_t dims;
  int64_t sizes[64];  ///< by which coordinates are found
  WalkArgs<2> walk;
};

}  // namespace adjoint::cuda
