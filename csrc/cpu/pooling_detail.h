// What the pooling kernels share: tables of windows, planes over threads, and windows that are alike, element by
// element.
#pragma once

#include <algorithm>
#include <vector>

#include "cpu/parallel.h"
#include "cpu/pooling.h"
#include "cpu/pooling_isa.h"

namespace adjoint::cpu {

/// The window of each output along one axis: elements begin, begin + step, ... before end.
struct PoolAxis {
  int64_t in, step;
  /// Where all windows are alike but for what is cut off at the ends: how far they are apart (else 0), where the first
  /// would begin, and their number of elements.
  int64_t stride = 0, first = 0, taps = 0;
  std::vector<int64_t> begin, end;
  std::vector<int64_t> weight;  ///< for means: the elements that the window counts for

  explicit PoolAxis(const kernels::PoolAxis& axis) : in(axis.in), step(axis.step) {
    for (auto* table : {&begin, &end, &weight}) table->reserve(static_cast<size_t>(axis.out));
    axis.adaptive ? add_adaptive(axis) : add_alike(axis);
  }
  int64_t out() const { return static_cast<int64_t>(begin.size()); }
  PoolWindows windows() const { return {in, out(), step, stride, begin.data(), end.data(), weight.data()}; }

 private:
  void add(int64_t from, int64_t to, int64_t counted) {
    begin.push_back(from);
    end.push_back(to);
    weight.push_back(counted);
  }
  void add_adaptive(const kernels::PoolAxis& axis) {
    for (int64_t i = 0; i < axis.out; ++i) {
      const int64_t from = i * in / axis.out, to = ((i + 1) * in + axis.out - 1) / axis.out;
      add(from, to, to - from);
    }
  }
  void add_alike(const kernels::PoolAxis& axis) {
    stride = axis.stride;
    first = -axis.padding;
    taps = axis.taps;
    const int64_t reach = step * (taps - 1) + 1;
    for (int64_t i = 0; i < axis.out; ++i) {
      int64_t from = i * stride - axis.padding;
      const int64_t to = std::min(from + reach, in), padded = std::min(from + reach, in + axis.padding) - from;
      if (from < 0) from += (-from + step - 1) / step * step;
      add(from, to, axis.counts_padding ? padded : to - from);
    }
  }
};

struct PoolShape {
  int64_t planes;
  PoolAxis axes[3];

  explicit PoolShape(const kernels::PoolShape& shape)
      : planes(shape.planes), axes{PoolAxis(shape.axes[0]), PoolAxis(shape.axes[1]), PoolAxis(shape.axes[2])} {}
  int64_t in() const { return axes[0].in * axes[1].in * axes[2].in; }
  int64_t out() const { return axes[0].out() * axes[1].out() * axes[2].out(); }
};

/// The tables of the three axes, for the loops.
struct AxisTables {
  PoolWindows axes[3];

  explicit AxisTables(const PoolShape& shape)
      : axes{shape.axes[0].windows(), shape.axes[1].windows(), shape.axes[2].windows()} {}
};

/// Calls f(T{}) for float, double or int64.
template <class F>
void with_pooled(DType dtype, F f) {
  dtype == DType::Int64 ? f(int64_t{}) : dispatch_real(dtype, f);
}

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
inline RowTaps all_of(const std::vector<RowTap>& taps) { return {taps.data(), taps.data() + taps.size()}; }

/// Outputs of a row that are too few for vectors to pay.
inline constexpr int64_t kFewInRow = 16;

}  // namespace adjoint::cpu
