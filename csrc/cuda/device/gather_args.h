// The parameter of kernels that read at computed places.
#pragma once

#include "fault.h"
#include "walk_args.h"

namespace adjoint::cuda {

inline constexpr int kMaxIndices = 7;

/// The walk is over the output, the input and the indices.
struct GatherArgs {
  char* out;
  const char* in;
  const int64_t* index[kMaxIndices];
  int64_t size[kMaxIndices], step[kMaxIndices];  ///< of the dimensions that they index
  int32_t dim[kMaxIndices];
  FaultRecord fault;
  WalkArgs<kMaxIndices + 2> walk;
};

}  // namespace adjoint::cuda
