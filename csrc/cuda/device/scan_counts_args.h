// The parameter of the kernels that add up counts.
#pragma once

#include <cstdint>

namespace adjoint::cuda {

/// Each of n counts becomes the sum of those before it; the sum of all comes after them.
struct ScanArgs {
  void* counts;
  void* totals;  ///< of the parts, one for each block; null where there is one part
  int64_t n;
};
inline constexpr int kScanThreads = 1024, kScanEach = 4;
inline constexpr int64_t kScanPart = 4 * kScanThreads * kScanEach;  ///< counts of a block

}  // namespace adjoint::cuda
