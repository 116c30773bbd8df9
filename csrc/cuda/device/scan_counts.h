// Counts of parts made into where each part begins: each block has some of them, and the sums of the blocks before it.
#pragma once

#include "running_sums.h"
#include "scan_counts_args.h"

namespace adjoint::cuda {

/// What a block has of the counts.
struct ScanPart {
  int64_t begin, end;
  explicit ScanPart(const ScanArgs& args)
      : begin(static_cast<int64_t>(blockIdx.x) * kScanPart), end(args.totals ? begin + kScanPart : args.n) {
    if (end > args.n) end = args.n;
  }
};

template <class T>
inline void sum_counts(const ScanArgs& args) {
  __shared__ T shared[33];
  const ScanPart part(args);
  T sum = 0, total;
  for (int64_t i = part.begin + threadIdx.x; i < part.end; i += kScanThreads)
    sum = static_cast<T>(sum + static_cast<const T*>(args.counts)[i]);
  block_sum_before<kScanThreads>(sum, shared, total);
  if (threadIdx.x == 0) static_cast<T*>(args.totals)[blockIdx.x] = total;
}

template <class T>
inline void scan_counts(const ScanArgs& args) {
  __shared__ T shared[33];
  const ScanPart part(args);
  T* counts = static_cast<T*>(args.counts);
  T before = 0;
  if (args.totals) {
    T sum = 0;
    for (unsigned i = threadIdx.x; i < blockIdx.x; i += kScanThreads)
      sum = static_cast<T>(sum + static_cast<const T*>(args.totals)[i]);
    block_sum_before<kScanThreads>(sum, shared, before);
  }
  for (int64_t base = part.begin; base < part.end; base += kScanThreads * kScanEach) {
    T mine[kScanEach], sum = 0;
    const int64_t first = base + static_cast<int64_t>(threadIdx.x) * kScanEach;
#pragma unroll
    for (int i = 0; i < kScanEach; ++i) {
      mine[i] = first + i < part.end ? counts[first + i] : T(0);
      sum = static_cast<T>(sum + mine[i]);
    }
    T total;
    T start = static_cast<T>(before + block_sum_before<kScanThreads>(sum, shared, total));
#pragma unroll
    for (int i = 0; i < kScanEach; ++i) {
      if (first + i < part.end) counts[first + i] = start;
      start = static_cast<T>(start + mine[i]);
    }
    before = static_cast<T>(before + total);
  }
  if (threadIdx.x == 0 && part.end == args.n) counts[args.n] = before;
}

}  // namespace adjoint::cuda
