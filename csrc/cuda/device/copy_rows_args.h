// The parameter of copies of rows that begin at any addresses.
#pragma once

#include <cstdint>

namespace adjoint::cuda {

inline constexpr int kCopyThreads = 256, kCopyEach = 4;  ///< vectors of 16 bytes of a thread

/// Steps are from row to row, in elements.
struct CopyRowsArgs {
  const char* from;
  char* to;
  int64_t from_step, to_step;
  int64_t cols;
  int64_t parts;  ///< blocks of a row
};

}  // namespace adjoint::cuda
