// Pooling over windows of up to three dimensions: greatest elements and means, and their gradients. Elements are
// float32, float64 or int64; all views are packed planes of one type, places are Int64.
#pragma once

#include <optional>

#include "core/view.h"

namespace adjoint::kernels {

/// The windows along one axis. Window i has `taps` elements, `step` apart, from i * stride - padding on; those outside
/// do not count. Or, where `adaptive`, it goes from i * in / out to (i + 1) * in / out, rounded outwards.
struct PoolAxis {
  int64_t in = 1, out = 1;
  int64_t taps = 1, step = 1, stride = 1, padding = 0;
  bool adaptive = false;
  bool counts_padding = false;  ///< for means: padding counts for a window's number of elements
};

struct PoolShape {
  int64_t planes;
  PoolAxis axes[3];

  int64_t in() const { return axes[0].in * axes[1].in * axes[2].in; }
  int64_t out() const { return axes[0].out * axes[1].out * axes[2].out; }
};

struct Pooling {
  using Mean = void(const PoolShape& shape, int64_t divisor, const View& in, const View& out);

  /// The greatest element of each window, the first of equals but the last NaN, and, unless `indices` is null, its
  /// place in its plane.
  void (*max)(const PoolShape& shape, const View& in, const View& out, const View* indices);
  /// The sum of each window, divided by the number of its elements, or by `divisor` unless that is 0.
  Mean* mean;
  /// Each element of `in`, a gradient, shared out over its window; `out` has the size of the input. No integers.
  Mean* mean_backward;
  /// Windows that differ from plane to plane: `samples` are numbers in [0, 1), by which their steps begin, one for each
  /// of the last `dims` axes and each plane; in two dimensions that of the width comes first. Of the axes only `in`,
  /// `out` and `taps` count. No integers.
  void (*fractional_max)(const PoolShape& shape, int dims, const View& samples, const View& in, const View& out,
                         const View& indices);
  /// out[plane][indices[plane][i]] = in[plane][i], or a sum of those with the same index where `add`; the rest is zero.
  /// Returns an index that lies outside, if there is one; nothing is written then.
  std::optional<int64_t> (*scatter)(int64_t planes, const View& in, const View& indices, const View& out, bool add);
};

}  // namespace adjoint::kernels
