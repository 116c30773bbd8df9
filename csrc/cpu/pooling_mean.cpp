// Pooling: means and their gradients.
#include <algorithm>

#include "cpu/pooling_detail.h"
#include "cpu/vector_math.h"

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

/// out = sums / divisor_of, for outputs [from, from + count) of row (z, y).
template <class T>
[[gnu::always_inline]] inline void divide(const PoolAxis (&axes)[3], int64_t divisor, size_t z, size_t y, int64_t from,
                                          int64_t count, const T* sums, T* out) {
  if (divisor != 0) {
    for (int64_t x = 0; x < count; ++x) out[x] = sums[x] / static_cast<T>(divisor);
    return;
  }
  const int64_t weight = axes[0].weight[z] * axes[1].weight[y], *weights = axes[2].weight.data() + from;
  ADJOINT_INDEPENDENT
  for (int64_t x = 0; x < count; ++x) out[x] = sums[x] / static_cast<T>(weight * weights[x]);
}

/// Means by rows of outputs: all of them take their first element, then their second. The stride of windows is known
/// when this is compiled, or 0.
template <int kStride, class T>
[[gnu::always_inline]] inline void means(const PoolAxis (&axes)[3], const std::vector<RowTap>& taps, int64_t divisor,
                                         const T* __restrict in, T* __restrict out) {
  const PoolAxis &za = axes[0], &ya = axes[1], &xa = axes[2];
  const int64_t stride = kStride ? kStride : xa.stride;
  for (size_t z = 0; z < za.begin.size(); ++z) {
    for (size_t y = 0; y < ya.begin.size(); ++y) {
      for (int64_t from = 0; from < xa.out(); from += kBlock) {
        const int64_t count = std::min(kBlock, xa.out() - from);
        std::fill_n(out, count, T(0));
        for (int64_t a = za.begin[z]; a < za.end[z]; ++a) {
          for (int64_t b = ya.begin[y]; b < ya.end[y]; ++b) {
            for (const RowTap& any : taps) {
              const RowTap tap = any.within(from, from + count, stride);
              const T* row = in + (a * ya.in + b) * xa.in + tap.start;
              for (int64_t x = tap.begin; x < tap.end; ++x) out[x] += row[x * stride];
            }
          }
        }
        divide(axes, divisor, z, y, from, count, out, out);
        out += count;
      }
    }
  }
}

/// The reverse: adds the share of each element of its window to `out`.
template <int kStride, class T>
[[gnu::always_inline]] inline void spread(const PoolAxis (&axes)[3], const std::vector<RowTap>& taps, int64_t divisor,
                                          const T* __restrict grad, T* __restrict out) {
  const PoolAxis &za = axes[0], &ya = axes[1], &xa = axes[2];
  const int64_t stride = kStride ? kStride : xa.stride;
  T shares[kBlock];
  for (size_t z = 0; z < za.begin.size(); ++z) {
    for (size_t y = 0; y < ya.begin.size(); ++y) {
      for (int64_t from = 0; from < xa.out(); from += kBlock) {
        const int64_t count = std::min(kBlock, xa.out() - from);
        divide(axes, divisor, z, y, from, count, grad, shares);
        for (int64_t a = za.begin[z]; a < za.end[z]; ++a) {
          for (int64_t b = ya.begin[y]; b < ya.end[y]; ++b) {
            for (const RowTap& any : taps) {
              const RowTap tap = any.within(from, from + count, stride);
              T* row = out + (a * ya.in + b) * xa.in + tap.start;
              for (int64_t x = tap.begin; x < tap.end; ++x) row[x * stride] += shares[x];
            }
          }
        }
        grad += count;
      }
    }
  }
}

// Not templates: those cannot be compiled for several instruction sets.
#define ADJOINT_ROWS(name, kernel, T)                                                                              \
  ADJOINT_CLONES void name(const PoolAxis(&axes)[3], const std::vector<RowTap>& taps, int64_t divisor, const T* x, \
                           T* out) {                                                                               \
    switch (axes[2].stride) {                                                                                      \
      case 1: return kernel<1>(axes, taps, divisor, x, out);                                                       \
      case 2: return kernel<2>(axes, taps, divisor, x, out);                                                       \
      default: return kernel<0>(axes, taps, divisor, x, out);                                                      \
    }                                                                                                              \
  }
ADJOINT_ROWS(means_of_rows, means, float)
ADJOINT_ROWS(means_of_rows, means, double)
ADJOINT_ROWS(means_of_rows, means, int64_t)
ADJOINT_ROWS(spread_rows, spread, float)
ADJOINT_ROWS(spread_rows, spread, double)
#undef ADJOINT_ROWS

template <class T>
void mean_planes(const PoolShape& shape, int64_t divisor, const T* in_data, T* out_data) {
  const PoolAxis &za = shape.axes[0], &ya = shape.axes[1], &xa = shape.axes[2];
  const std::vector<RowTap> taps = useful_taps(xa);
  each_plane(shape.planes, plane_work(shape), [&](int64_t plane) {
    const T* in = in_data + plane * shape.in();
    T* out = out_data + plane * shape.out();
    if (!taps.empty()) return means_of_rows(shape.axes, taps, divisor, in, out);
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
  each_plane(shape.planes, plane_work(shape), [&](int64_t plane) {
    const T* g = grad + plane * shape.out();
    T* out = out_data + plane * shape.in();
    std::fill_n(out, shape.in(), T(0));
    if (!taps.empty()) return spread_rows(shape.axes, taps, divisor, g, out);
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
  with_pooled_real(in.dtype, [&](auto tag) {
    using T = decltype(tag);
    mean_planes_backward(tables, divisor, in.as<const T>(), out.as<T>());
  });
}

}  // namespace adjoint::cpu
