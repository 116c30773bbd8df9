// Pooling: means and their gradients.
#include <algorithm>

#include "cpu/pooling_detail.h"

namespace adjoint::cpu {
namespace {

/// f(output, z, y, x) for all outputs of a plane, in order; z, y, x number them along the axes.
template <class F>
inline void each_output(const PoolAxis (&axes)[3], F f) {
  int64_t i = 0;
  for (size_t z = 0; z < axes[0].begin.size(); ++z) {
    for (size_t y = 0; y < axes[1].begin.size(); ++y) {
      for (size_t x = 0; x < axes[2].begin.size(); ++x) f(i++, z, y, x);
    }
  }
}

int64_t divisor_of(const PoolAxis (&axes)[3], int64_t divisor, size_t z, size_t y, size_t x) {
  return divisor != 0 ? divisor : axes[0].weight[z] * axes[1].weight[y] * axes[2].weight[x];
}

/// The taps of windows that are alike, where there are enough in a row for vectors; else none.
std::vector<RowTap> useful_taps(const PoolAxis& axis) {
  return axis.out() < kFewInRow ? std::vector<RowTap>() : row_taps(axis);
}

template <class T>
void mean_planes(const PoolShape& shape, int64_t divisor, const T* in_data, T* out_data) {
  const PoolAxis &za = shape.axes[0], &ya = shape.axes[1], &xa = shape.axes[2];
  const std::vector<RowTap> taps = useful_taps(xa);
  const AxisTables tables(shape);
  each_plane(shape.planes, plane_work(shape), [&](int64_t plane) {
    const T* in = in_data + plane * shape.in();
    T* out = out_data + plane * shape.out();
    if (!taps.empty()) return chosen<PoolLoops<T>>.means_of_rows(tables.axes, all_of(taps), divisor, in, out);
    each_output(shape.axes, [&](int64_t i, size_t z, size_t y, size_t x) {
      T sum = 0;
      const int64_t x_begin = xa.begin[x], x_end = xa.end[x];
      for (int64_t a = za.begin[z]; a < za.end[z]; ++a) {
        for (int64_t b = ya.begin[y]; b < ya.end[y]; ++b) {
          const T* row = in + (a * ya.in + b) * xa.in;
          for (int64_t c = x_begin; c < x_end; ++c) sum += row[c];
        }
      }
      out[i] = sum / static_cast<T>(divisor_of(shape.axes, divisor, z, y, x));
    });
  });
}

template <class T>
void mean_planes_backward(const PoolShape& shape, int64_t divisor, const T* grad, T* out_data) {
  const PoolAxis &za = shape.axes[0], &ya = shape.axes[1], &xa = shape.axes[2];
  std::vector<RowTap> taps = useful_taps(xa);
  // An element's shares are added in the order of the windows: the last tap is that of the first.
  std::reverse(taps.begin(), taps.end());
  const AxisTables tables(shape);
  each_plane(shape.planes, plane_work(shape), [&](int64_t plane) {
    const T* g = grad + plane * shape.out();
    T* out = out_data + plane * shape.in();
    std::fill_n(out, shape.in(), T(0));
    if (!taps.empty()) return chosen<PoolGradLoops<T>>.share_out_rows(tables.axes, all_of(taps), divisor, g, out);
    each_output(shape.axes, [&](int64_t i, size_t z, size_t y, size_t x) {
      const T part = g[i] / static_cast<T>(divisor_of(shape.axes, divisor, z, y, x));
      const int64_t x_begin = xa.begin[x], x_end = xa.end[x];
      for (int64_t a = za.begin[z]; a < za.end[z]; ++a) {
        for (int64_t b = ya.begin[y]; b < ya.end[y]; ++b) {
          T* row = out + (a * ya.in + b) * xa.in;
          for (int64_t c = x_begin; c < x_end; ++c) row[c] += part;
        }
      }
    });
  });
}

}  // namespace

void mean_pool(const kernels::PoolShape& shape, int64_t divisor, const View& in, const View& out) {
  const PoolShape tables(shape);
  with_pooled(in.dtype, [&](auto tag) {
    using T = decltype(tag);
    mean_planes(tables, divisor, in.as<const T>(), out.as<T>());
  });
}

void mean_pool_backward(const kernels::PoolShape& shape, int64_t divisor, const View& in, const View& out) {
  const PoolShape tables(shape);
  dispatch_real(in.dtype, [&](auto tag) {
    using T = decltype(tag);
    mean_planes_backward(tables, divisor, in.as<const T>(), out.as<T>());
  });
}

}  // namespace adjoint::cpu
