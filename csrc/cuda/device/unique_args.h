// The parameter of kernels that tell elements apart.
#pragma once

#include <cstdint>

namespace adjoint::cuda {

inline constexpr int kUniqueThreads = 256, kUniqueRounds = 8;
inline constexpr int64_t kUniqueTile = kUniqueThreads * kUniqueRounds;

struct UniqueArgs {
  const char* sorted;    ///< equal elements are neighbours
  const int64_t* order;  ///< which element of the input each is; null: as they lie
  int64_t* tiles;        ///< groups that begin in each tile; then before it
  char* values;
  int64_t *inverse, *firsts, *counts;  ///< null: not asked for
  int64_t n, groups;
};

}  // namespace adjoint::cuda
