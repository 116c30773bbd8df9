// The parameters of kernels that keep or move elements by their place alone.
#pragma once

#include "fault.h"
#include "walk_args.h"

namespace adjoint::cuda {

/// The walk is over the matrices of the input and of the output.
struct TriangleArgs {
  const char* in;
  char* out;
  int64_t numel, rows, columns, diagonal;
  int64_t in_row, in_column, out_row, out_column;
  int32_t lower;
  WalkArgs<2> walk;
};

struct TrianglePlaceArgs {
  char* out;
  int64_t n, rows, columns, offset;
  int32_t lower;
};

struct RollArgs {
  const char* in;
  char* out;
  int64_t numel, size, step, start;
};

/// What the repeats add up to, or, of places, where each begins.
struct RepeatArgs {
  const int64_t* repeats;
  int64_t* out;
  int64_t n, total;
  FaultRecord fault;
};
inline constexpr int kRepeatThreads = 1024;

}  // namespace adjoint::cuda
