// The parameter of one elementwise kernel over many tensors, as the program fills it and the device reads it.
#pragma once

#include "elementwise_args.h"

namespace adjoint::cuda {

inline constexpr int kManyTensors = 64;
inline constexpr int kManyPlaces = 256;

/// As PackedArgs for each tensor; blocks have the elements of one.
struct ManyArgs {
  int32_t tensors;
  uint32_t first_block[kManyTensors];
  int64_t sizes[kManyTensors];
  char* places[kManyPlaces];  ///< of the first tensor the output and the inputs, then those of the next
  PackedArgs::Number numbers[kMaxOperands];
  Scalar params[8];
};
static_assert(sizeof(ManyArgs) <= 4096);

}  // namespace adjoint::cuda
