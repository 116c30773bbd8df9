// The parameters of kernels that tell elements and rows apart.
#pragma once

#include <cstdint>

namespace adjoint::cuda {

inline constexpr int kUniqueThreads = 256, kUniqueRounds = 8;
inline constexpr int64_t kUniqueTile = kUniqueThreads * kUniqueRounds;

struct UniqueArgs {
  const char* sorted;    ///< equal elements are neighbours; of rows: as they lie
  const int64_t* order;  ///< which element or row of the input each is; null: as they lie
  int64_t* tiles;        ///< groups that begin in each tile; then before it
  char* values;          ///< the first of each group, or which row it is; null: not asked for
  int64_t* inverse;      ///< null: not asked for, as the next two
  int64_t* firsts;       ///< where each group begins, and the end
  int64_t* counts;
  int64_t n, groups, width;  ///< `width` is that of rows
};

/// Runs of rows in order, each a step long, of which two at a time become one.
struct MergeArgs {
  const char* rows;
  const int64_t* from;  ///< null: runs of one row, as they lie
  int64_t* to;
  int64_t n, width, step;
};

}  // namespace adjoint::cuda
