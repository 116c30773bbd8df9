// Counts of parts made into where each part begins, by one block.
#pragma once

#include "running_sums.h"
#include "scan_counts_args.h"

namespace adjoint::cuda {

template <class T>
inline void scan_counts(const ScanArgs& args) {
  constexpr int kEach = 4;
  __shared__ T shared[33];
  T* counts = static_cast<T*>(args.counts);
  T before = 0;
  for (int64_t base = 0; base < args.n; base += kScanThreads * kEach) {
    T mine[kEach], sum = 0;
    const int64_t first = base + static_cast<int64_t>(threadIdx.x) * kEach;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      mine[i] = first + i < args.n ? counts[first + i] : T(0);
      sum = static_cast<T>(sum + mine[i]);
    }
    T total;
    T start = static_cast<T>(before + block_sum_before<kScanThreads>(sum, shared, total));
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      if (first + i < args.n) counts[first + i] = start;
      start = static_cast<T>(start + mine[i]);
    }
    before = static_cast<T>(before + total);
  }
  if (threadIdx.x == 0) counts[args.n] = before;
}

}  // namespace adjoint::cuda
