// The parameter of the kernel that adds up counts.
#pragma once

#include <cstdint>

namespace adjoint::cuda {

/// Each of n counts becomes the sum of those before it; the sum of all comes after them.
struct ScanArgs {
  void* counts;
  int64_t n;
};
inline constexpr int kScanThreads = 1024;

}  // namespace adjoint::cuda
