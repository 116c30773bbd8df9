// Counts of parts made into where each part begins.
#pragma once

#include "cuda/device/scan_counts_args.h"
#include "cuda/launch.h"
#include "cuda/walk.h"

namespace adjoint::cuda {

/// Each of n counts on the device becomes the sum of those before it; the sum of all is written behind them.
inline void scan_counts(Device device, int64_t* counts, int64_t n) {
  ScanArgs args{counts, n};
  launch(device, kernel_text("scan_counts.h", "ScanArgs", "scan_counts<int64_t>", kScanThreads), args, 1, kScanThreads);
}
inline void scan_counts(Device device, uint32_t* counts, int64_t n) {
  ScanArgs args{counts, n};
  launch(device, kernel_text("scan_counts.h", "ScanArgs", "scan_counts<uint32_t>", kScanThreads), args, 1,
         kScanThreads);
}

}  // namespace adjoint::cuda
