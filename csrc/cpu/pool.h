// Pooling over windows of up to three dimensions of contiguous planes: greatest elements and means, and their
// gradients.
#pragma once

#include <cstdint>
#include <vector>

#include "core/dtype.h"

namespace adjoint::cpu {

/// The window of each output along one axis: elements begin, begin + step, ... before end.
struct PoolAxis {
  int64_t in = 1;
  int64_t step = 1;
  /// Where all windows are alike but for what is cut off at the ends: how far they are apart (else 0), where the first
  /// would begin, and their number of elements.
  int64_t stride = 0, first = 0, taps = 0;
  std::vector<int64_t> begin, end;
  std::vector<int64_t> weight;  ///< for means: the elements that the window counts for

  int64_t out() const { return static_cast<int64_t>(begin.size()); }
  void reserve(int64_t out) {
    for (auto* table : {&begin, &end, &weight}) table->reserve(static_cast<size_t>(out));
  }
  void add(int64_t from, int64_t to, int64_t counted) {
    begin.push_back(from);
    end.push_back(to);
    weight.push_back(counted);
  }
};

struct PoolShape {
  int64_t planes;
  PoolAxis axes[3];

  int64_t in() const { return axes[0].in * axes[1].in * axes[2].in; }
  int64_t out() const { return axes[0].out() * axes[1].out() * axes[2].out(); }
};

/// The greatest element of each window, the first of equals but the last NaN, and, unless `indices` is null, its place
/// in its plane. T is float, double or int64_t.
template <class T>
void max_pool(const PoolShape& shape, const T* in, T* out, int64_t* indices);
/// The sum of each window, divided by the product of its weights, or by `divisor` unless that is 0.
template <class T>
void mean_pool(const PoolShape& shape, int64_t divisor, const T* in, T* out);
/// Each element of `grad` spread over its window; `out` has the size of the input. T is float or double.
template <class T>
void mean_pool_backward(const PoolShape& shape, int64_t divisor, const T* grad, T* out);

/// Windows that differ from plane to plane: `samples` are numbers in [0, 1), by which their steps begin, one for each
/// of the last `dims` axes and each plane; in two dimensions that of the width comes first. `room` is for the borders
/// of the windows, two for each plane and output along an axis.
template <class T>
void fractional_max_pool(int64_t planes, int64_t dims, const int64_t (&in)[3], const int64_t (&kernel)[3],
                         const int64_t (&out_sizes)[3], const T* samples, const T* in_data, T* out, int64_t* indices,
                         int64_t* room);

/// out[plane][indices[plane][i]] = in[plane][i], or a sum of those with the same index where `add`; the rest is zero.
/// Fails, before anything is written, when an index is none of `size`; `text` says of what, for the message.
template <class T>
void scatter_planes(int64_t planes, int64_t count, int64_t size, const T* in, const int64_t* indices, bool add,
                    const char* text, T* out);

}  // namespace adjoint::cpu
