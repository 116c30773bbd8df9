// What the two convolution kernels share: panels of channels, and packed images.
#pragma once

#include <algorithm>

#include "cpu/convolution_isa.h"
#include "cpu/convolution_plan.h"
#include "cpu/parallel.h"

/// Rows are often too short for calls of memcpy and memset to pay.
#if defined(__clang__)
#define ADJOINT_SHORT_LOOPS
#else
#define ADJOINT_SHORT_LOOPS __attribute__((optimize("no-tree-loop-distribute-patterns")))
#endif

namespace adjoint::cpu {

/// Output channels in panels that the loops take at once: two vectors of them, one at the end, or few beside vectors of
/// pixels.
template <class T>
struct Panels {
  const ConvLoops<T>& loops = chosen<ConvLoops<T>>;
  int64_t channels;
  bool by_pixels;
  int64_t width;  ///< of all but the last
  int64_t count;
  int64_t padded;  ///< channels in all, those that only fill up counted

  explicit Panels(int64_t out_channels) : channels(out_channels) {
    const int64_t lanes = loops.lanes;
    by_pixels = channels * 2 <= lanes;
    width = by_pixels ? (channels == 1 ? 1 : 4) : (channels <= lanes ? lanes : 2 * lanes);
    count = (channels + width - 1) / width;
    padded = (count - 1) * width + width_of(count - 1);
  }
  int64_t width_of(int64_t panel) const {
    return !by_pixels && channels - panel * width <= loops.lanes ? loops.lanes : width;
  }
  int64_t used(int64_t panel) const { return std::min(width, channels - panel * width); }
};

/// The loops may read, and drop, this many elements behind an image.
inline constexpr int64_t kImageSlack = 64;

/// Copies channels [begin, end) of an image to their places in the packed image.
template <class T>
void pack_image(const Correlation& plan, const T* in, int64_t begin, int64_t end, T* packed);

/// The packed image n: the input itself where that will do, else the copy in `packed`.
template <class T>
const T* image_or_copy(const Correlation& plan, const T* in, int64_t n, const T* packed) {
  // The last image must not be read beyond its end.
  const bool direct = plan.packed_already() && n + 1 < plan.batch && plan.image() >= kImageSlack;
  return direct ? in + n * plan.image() : packed;
}

}  // namespace adjoint::cpu
