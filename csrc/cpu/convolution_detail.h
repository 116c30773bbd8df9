// What the two convolution kernels share: the loops chosen for this machine, and packed images.
#pragma once

#include <algorithm>

#include "cpu/convolution_plan.h"
#include "cpu/parallel.h"

/// Rows are often too short for calls of memcpy and memset to pay.
#if defined(__clang__)
#define ADJOINT_SHORT_LOOPS
#else
#define ADJOINT_SHORT_LOOPS __attribute__((optimize("no-tree-loop-distribute-patterns")))
#endif

namespace adjoint::cpu {

/// How the loops of a weight's gradient walk over positions: counts, and the steps of the outer two in the image.
struct GradWalk {
  int64_t count[3], step[2];
};

/// The inner loops (cpu/convolution_isa.h) of one instruction set.
template <class T>
struct ConvKernels {
  int lanes, most_pixels, grad_rows;
  /// By one or two vectors of channels, and by half the number of pixels, less one.
  void (*by_channels[2][7])(const T* in, const int64_t* offsets, int64_t depth, const T* weight, T* sums, bool add);
  /// By one or four channels, and by the vectors of pixels, less one: up to four beside one channel, two beside four.
  void (*by_pixels[2][4])(const T* in, const int64_t* offsets, int64_t depth, const T* weight, const T* bias, T* out,
                          int64_t out_row, int64_t last);
  void (*grad_by_channels[2])(const T* const* in, const GradWalk& walk, const T* grad, T* sums);
  void (*grad_by_pixels)(const T* const* in, const GradWalk& walk, const T* grad, T* sums);
};

/// The loops of the best instruction set of this machine.
template <class T>
const ConvKernels<T>& conv_kernels();

/// Output channels in panels that the loops take at once: two vectors of them, one at the end, or few beside vectors of
/// pixels.
template <class T>
struct Panels {
  const ConvKernels<T>& kernels = conv_kernels<T>();
  int64_t channels;
  bool by_pixels;
  int64_t width;  ///< of all but the last
  int64_t count;
  int64_t padded;  ///< channels in all, those that only fill up counted

  explicit Panels(int64_t out_channels) : channels(out_channels) {
    const int64_t lanes = kernels.lanes;
    by_pixels = channels * 2 <= lanes;
    width = by_pixels ? (channels == 1 ? 1 : 4) : (channels <= lanes ? lanes : 2 * lanes);
    count = (channels + width - 1) / width;
    padded = (count - 1) * width + width_of(count - 1);
  }
  int64_t width_of(int64_t panel) const {
    return !by_pixels && channels - panel * width <= kernels.lanes ? kernels.lanes : width;
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
