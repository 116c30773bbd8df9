// The loops of pooling over one plane, or some layers of planes. See Note [Instruction sets] in cpu/isa.h.
#pragma once

#include <cstdint>

#include "cpu/isa.h"

namespace adjoint::cpu {

/// Outputs of a row that are worked on at a time.
inline constexpr int64_t kPoolBlock = 128;
/// Elements of a wide window's row that compete at a time.
inline constexpr int64_t kWideLanes = 8;
/// Greatest elements of rows of windows that are kept while they compete.
inline constexpr int64_t kPoolTiles = 1024;

/// Windows along one axis: that of output i has the elements begin[i], begin[i] + step, ... before end[i].
struct PoolWindows {
  int64_t in, out, step;
  int64_t stride;  ///< how far windows are apart that are alike; 0 where they are not
  const int64_t *begin, *end;
  const int64_t* weight;  ///< for means: the elements that a window counts for
};

/// One element of all windows of a row that are alike: outputs [begin, end) take element start + output * stride.
struct RowTap {
  int64_t start, begin, end;

  /// The same for outputs [from, to) that are counted from `from` on.
  [[gnu::always_inline]] RowTap within(int64_t from, int64_t to, int64_t stride) const {
    return {start + from * stride, begin > from ? begin - from : 0, (end < to ? end : to) - from};
  }
};

struct RowTaps {
  const RowTap *first, *last;
  [[gnu::always_inline]] const RowTap* begin() const { return first; }
  [[gnu::always_inline]] const RowTap* end() const { return last; }
};

/// Windows side by side, which cover planes and rows: the layers of windows of all planes follow each other, and their
/// rows are one for the greatest of each window's rows, which then compete.
struct PoolTiling {
  int64_t in, rows, out;  ///< of a layer: elements, greatest elements of rows of windows, outputs
  int64_t together;       ///< layers that are pooled at a time; 0 where windows are not so
};

/// Of float, double or int64_t. `indices` may be null.
template <class T>
struct PoolLoops {
  /// By rows of windows that are alike.
  void (*greatest_of_rows)(const PoolWindows (&axes)[3], RowTaps taps, const T* in, T* out, int64_t* indices);
  /// One window after the other.
  void (*greatest_of_windows)(const PoolWindows (&axes)[3], const T* in, T* out, int64_t* indices);
  /// Layers [begin, end) of all planes, at most as many as fit together.
  void (*greatest_of_layers)(const PoolWindows (&axes)[3], const PoolTiling& tiling, int64_t begin, int64_t end,
                             const T* in, T* out, int64_t* indices);
  /// Sums divided by `divisor` or, where that is 0, by the weights.
  void (*means_of_rows)(const PoolWindows (&axes)[3], RowTaps taps, int64_t divisor, const T* in, T* out);

  template <Isa>
  static PoolLoops compiled();
};

/// Of float or double.
template <class T>
struct PoolGradLoops {
  /// The reverse of means_of_rows: adds the share of each element of a window to `out`.
  void (*share_out_rows)(const PoolWindows (&axes)[3], RowTaps taps, int64_t divisor, const T* grad, T* out);

  template <Isa>
  static PoolGradLoops compiled();
};

}  // namespace adjoint::cpu
