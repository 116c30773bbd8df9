// The parameter of kernels that sort rows or choose among them.
#pragma once

#include "walk_args.h"

namespace adjoint::cuda {

/// The walk is over the rows of the input, of the values and of the indices.
struct SortArgs {
  const char* in;
  char* values;
  int64_t* indices;
  int64_t rows, n;
  int64_t k;           ///< how many are kept of each row, or which one
  int32_t padded;      ///< n as a power of two
  int32_t flip;        ///< the greatest first
  int32_t rows_first;  ///< neighbours in memory belong to different rows
  int64_t steps[3];    ///< along a row
  char* sorted;        ///< the elements of rows that are sorted in the device's memory, or are to be
  uint32_t* places;    ///< where they were
  WalkArgs<3> walk;
};

}  // namespace adjoint::cuda
