// What the pooling kernels share: planes over threads, and windows that are alike, element by element.
#pragma once

#include <algorithm>

#include "cpu/parallel.h"
#include "cpu/pool.h"

namespace adjoint::cpu {

/// Elements of work that are worth a thread's waking up.
inline constexpr int64_t kWork = 32768;

template <class Body>
void each_plane(int64_t planes, int64_t work, const Body& body) {
  parallel_for(planes, std::max<int64_t>(1, kWork / std::max<int64_t>(1, work)), [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) body(plane);
  });
}

/// Elements that all windows of a plane read.
inline int64_t plane_work(const PoolShape& shape) {
  int64_t work = 1;
  for (const PoolAxis& axis : shape.axes) {
    int64_t elements = 0;
    for (size_t i = 0; i < axis.begin.size(); ++i)
      elements += (axis.end[i] - axis.begin[i] + axis.step - 1) / axis.step;
    work *= elements;
  }
  return work;
}

/// One element of all windows of a row that are alike: outputs [begin, end) take element start + output * stride.
struct RowTap {
  int64_t start, begin, end;

  /// The same for outputs [from, to) that are counted from `from` on.
  RowTap within(int64_t from, int64_t to, int64_t stride) const {
    return {start + from * stride, std::max<int64_t>(begin - from, 0), std::min(end, to) - from};
  }
};

/// Of windows that are not alike there are none.
inline std::vector<RowTap> row_taps(const PoolAxis& axis) {
  std::vector<RowTap> taps;
  const int64_t stride = axis.stride;
  for (int64_t k = 0; stride != 0 && k < axis.taps; ++k) {
    const int64_t start = axis.first + k * axis.step;
    const int64_t begin = start >= 0 ? 0 : (stride - 1 - start) / stride;
    const int64_t end = start >= axis.in ? 0 : std::min(axis.out(), (axis.in - start + stride - 1) / stride);
    taps.push_back({start, begin, end});
  }
  return taps;
}

/// Outputs of a row that are worked on at a time, and those that are too few for vectors to pay.
inline constexpr int64_t kBlock = 128;
inline constexpr int64_t kFewInRow = 16;

}  // namespace adjoint::cpu
