// Counts of parts made into where each part begins.
#pragma once

#include <optional>
#include <type_traits>

#include "cuda/allocator.h"
#include "cuda/device/scan_counts_args.h"
#include "cuda/launch.h"
#include "cuda/walk.h"

namespace adjoint::cuda {

/// Each of n counts on the device becomes the sum of those before it; the sum of all is written behind them.
template <class T>
void scan_counts(Device device, T* counts, int64_t n) {
  static_assert(std::is_same_v<T, int64_t> || std::is_same_v<T, uint32_t>);
  const std::string type = std::is_same_v<T, int64_t> ? "<int64_t>" : "<uint32_t>";
  auto text = [&](const char* name) { return kernel_text("scan_counts.h", "ScanArgs", name + type, kScanThreads); };
  const int64_t parts = (n + kScanPart - 1) / kScanPart;
  ScanArgs args{counts, nullptr, n};
  std::optional<Scratch> totals;
  if (parts > 1) {
    totals.emplace(static_cast<size_t>(parts) * sizeof(T), device);
    args.totals = totals->data();
    launch(device, text("sum_counts"), args, parts, kScanThreads);
  }
  launch(device, text("scan_counts"), args, std::max<int64_t>(parts, 1), kScanThreads);
}

}  // namespace adjoint::cuda
