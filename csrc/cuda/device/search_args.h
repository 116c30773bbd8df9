// The parameters of kernels that look up and count elements.
#pragma once

#include "walk_args.h"

namespace adjoint::cuda {

/// The walk is over the values, the places, and the rows that they are looked up in.
struct SearchArgs {
  const char *sorted, *values;
  int64_t* out;
  int64_t length, step;
  int32_t right;
  WalkArgs<3> walk;
};

inline constexpr int kCountThreads = 256, kMaxGrid = 4;
inline constexpr int kNearBins = 4096;  ///< counted in the memory of each block

/// Counts of bins: of whole numbers, of equal parts of a range, or of the cells of a grid.
struct CountArgs {
  const char* values;
  unsigned long long* counts;
  int64_t n, bins, blocks;
  double least, greatest;
  const char* edges[kMaxGrid];
  int64_t cells[kMaxGrid];
  int32_t dims, even;
};

/// The least and the greatest element of each block's, as bounds[2 * block].
struct BoundsArgs {
  const char* values;
  char* bounds;
  int64_t n, blocks;
};

}  // namespace adjoint::cuda
