// How many threads have a row of elements, and how many of them each keeps.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cuda/reduce_plan.h"

namespace adjoint::cuda {

/// A group of threads (a part of a warp, or a whole block) has a row in registers: so many packets each.
struct RowShape {
  int threads, group, packets;

  /// `most` threads have a row, or a warp where there are no more elements than `by_warp`.
  RowShape(int64_t n, int width, int64_t most = 1024, int64_t by_warp = 1024) {
    // Warps need no barriers, so that they take longer rows; a block's threads have 16 elements each, up to a limit.
    const int64_t whole = n <= by_warp ? std::min<int64_t>(power_of_two((n + 7) / 8), 32)
                                       : std::clamp<int64_t>(power_of_two((n + 15) / 16), 64, most);
    group = static_cast<int>(whole);
    threads = group <= 32 ? 256 : group;
    packets = static_cast<int>(std::max<int64_t>((n + group * width - 1) / (group * width), 1));
  }
};

}  // namespace adjoint::cuda
