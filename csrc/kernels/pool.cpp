#include "kernels/pool.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

#include "core/error.h"
#include "core/parallel.h"
#include "kernels/vector_math.h"

namespace adjoint::kernels {
namespace {

/// Elements of work that are worth a thread's waking up.
constexpr int64_t kWork = 32768;

template <class Body>
void each_plane(int64_t planes, int64_t work, const Body& body) {
  parallel_for(planes, std::max<int64_t>(1, kWork / std::max<int64_t>(1, work)), [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) body(plane);
  });
}

/// Elements that all windows of a plane read.
int64_t plane_work(const PoolShape& shape) {
  int64_t work = 1;
  for (const PoolAxis& axis : shape.axes) {
    int64_t elements = 0;
    for (size_t i = 0; i < axis.begin.size(); ++i)
      elements += (axis.end[i] - axis.begin[i] + axis.step - 1) / axis.step;
    work *= elements;
  }
  return work;
}

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

/// condition ? a : b without a jump, which could not be foreseen.
template <class T>
inline T chosen(bool condition, T a, T b) {
  using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  const Bits x = std::bit_cast<Bits>(a), y = std::bit_cast<Bits>(b);
  return std::bit_cast<T>(y ^ ((x ^ y) & (Bits{0} - Bits{condition})));
}

template <class T>
inline constexpr T kLeast =
    std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();

/// The first element of window x, in the row that begins at `row`; 0 when there is none but padding.
inline int64_t first_place(const PoolAxis& axis, size_t x, int64_t row) {
  return axis.begin[x] < axis.end[x] ? row + axis.begin[x] : 0;
}

/// One element of all windows of a row that are alike: outputs [begin, end) take element start + output * stride.
struct RowTap {
  int64_t start, begin, end;
};

/// Of windows that are not alike there are none.
std::vector<RowTap> row_taps(const PoolAxis& axis) {
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

/// Takes elements of a row as rivals of outputs [begin, end). The stride is known when this is compiled, or 0.
template <bool kPlaces, int kStride, class T, class Place>
[[gnu::always_inline]] inline void compete(const T* __restrict row, Place place, int64_t any_stride, int64_t begin,
                                           int64_t end, T* __restrict best, Place* __restrict places) {
  const int64_t stride = kStride ? kStride : any_stride;
  for (int64_t x = begin; x < end; ++x) {
    const T value = row[x * stride];
    const bool better = (value > best[x]) | (value != value);
    best[x] = chosen(better, value, best[x]);
    if constexpr (kPlaces) places[x] = chosen(better, static_cast<Place>(place + x * stride), places[x]);
  }
}

/// Outputs whose places are kept while they compete, before they are written out.
inline constexpr int64_t kBlock = 128;

inline constexpr int64_t kFewInRow = 16;

/// Outputs [from, to) of a row, and one row of the input.
template <bool kPlaces, int kStride, class T, class Place>
[[gnu::always_inline]] inline void compete_in_row(const PoolAxis& axis, const std::vector<RowTap>& taps, const T* in,
                                                  int64_t row, int64_t from, int64_t to, T* best, Place* places) {
  if (axis.stride == 0) {
    // Windows of adaptive pooling are mostly wide, where a new greatest is rare and a jump cheaper than a choice.
    for (int64_t x = from; x < to; ++x) {
      const size_t i = static_cast<size_t>(x);
      T most = best[x - from];
      int64_t place = -1;
      for (int64_t c = axis.begin[i]; c < axis.end[i]; c += axis.step) {
        const T value = in[row + c];
        if ((value > most) | (value != value)) {
          most = value;
          place = row + c;
        }
      }
      best[x - from] = most;
      if constexpr (kPlaces) places[x - from] = place < 0 ? places[x - from] : static_cast<Place>(place);
    }
    return;
  }
  for (const RowTap& tap : taps) {
    const int64_t start = row + tap.start + from * axis.stride;
    const int64_t begin = std::max<int64_t>(tap.begin - from, 0), end = std::min(tap.end, to) - from;
    compete<kPlaces, kStride>(in + start, static_cast<Place>(start), axis.stride, begin, end, best, places);
  }
}

template <bool kPlaces, int kStride, class Place, class T>
[[gnu::always_inline]] inline void greatest(const PoolAxis (&axes)[3], const std::vector<RowTap>& taps, const T* in,
                                            T* out, int64_t* indices) {
  const PoolAxis &za = axes[0], &ya = axes[1], &xa = axes[2];
  Place places[kPlaces ? kBlock : 1];
  for (size_t z = 0; z < za.begin.size(); ++z) {
    for (size_t y = 0; y < ya.begin.size(); ++y) {
      const int64_t first = (za.begin[z] * ya.in + ya.begin[y]) * xa.in;
      const bool none = za.begin[z] >= za.end[z] || ya.begin[y] >= ya.end[y];
      for (int64_t from = 0; from < xa.out(); from += kBlock) {
        const int64_t count = std::min(kBlock, xa.out() - from);
        for (int64_t x = 0; x < count; ++x) {
          out[x] = kLeast<T>;
          if constexpr (kPlaces)
            places[x] = static_cast<Place>(none ? 0 : first_place(xa, static_cast<size_t>(from + x), first));
        }
        for (int64_t a = za.begin[z]; a < za.end[z]; a += za.step) {
          for (int64_t b = ya.begin[y]; b < ya.end[y]; b += ya.step)
            compete_in_row<kPlaces, kStride>(xa, taps, in, (a * ya.in + b) * xa.in, from, from + count, out, places);
        }
        if constexpr (kPlaces) {
          for (int64_t x = 0; x < count; ++x) indices[x] = places[x];
          indices += count;
        }
        out += count;
      }
    }
  }
}

template <int kStride, class Place, class T>
[[gnu::always_inline]] inline void greatest_of(const PoolAxis (&axes)[3], const std::vector<RowTap>& taps, const T* in,
                                               T* out, int64_t* indices) {
  if (indices) {
    greatest<true, kStride, Place>(axes, taps, in, out, indices);
  } else {
    greatest<false, kStride, Place>(axes, taps, in, out, indices);
  }
}

/// Whether the windows lie side by side and all are whole.
bool side_by_side(const PoolAxis& axis) {
  return axis.stride != 0 && axis.taps == axis.stride && axis.step == 1 && axis.first == 0 &&
         axis.out() * axis.stride <= axis.in;
}

/// Elements of a plane that is pooled by its rows as one.
inline constexpr int64_t kTiles = 1024;

/// Short rows of windows side by side, without a rest: all rows of the plane are one for the greatest of each window's
/// rows, which then compete.
template <bool kPlaces, int kStride, class Place, class T>
[[gnu::always_inline]] inline void greatest_of_tiles(const PoolAxis (&axes)[3], const T* in, T* out, int64_t* indices) {
  const PoolAxis &ya = axes[1], &xa = axes[2];
  const int64_t stride = kStride ? kStride : xa.stride;
  const int64_t width = xa.out(), count = ya.out() * ya.stride * width;
  T best[kTiles];
  Place places[kPlaces ? kTiles : 1];
  for (int64_t i = 0; i < count; ++i) {
    best[i] = in[i * stride];
    if constexpr (kPlaces) places[i] = static_cast<Place>(i * stride);
  }
  for (int64_t k = 1; k < stride; ++k)
    compete<kPlaces, kStride>(in + k, static_cast<Place>(k), stride, 0, count, best, places);
  for (int64_t y = 0; y < ya.out(); ++y) {
    T* mine = best + y * ya.stride * width;
    Place* at = kPlaces ? places + y * ya.stride * width : places;
    for (int64_t b = 1; b < ya.stride; ++b) {
      for (int64_t x = 0; x < width; ++x) {
        const T rival = mine[b * width + x];
        const bool better = (rival > mine[x]) | (rival != rival);
        mine[x] = chosen(better, rival, mine[x]);
        if constexpr (kPlaces) at[x] = chosen(better, at[b * width + x], at[x]);
      }
    }
    for (int64_t x = 0; x < width; ++x) out[x] = mine[x];
    out += width;
    if constexpr (kPlaces) {
      for (int64_t x = 0; x < width; ++x) indices[x] = at[x];
      indices += width;
    }
  }
}

/// Rows that are too short for vectors to pay: window by window.
template <class T>
[[gnu::noinline]] void greatest_of_few(const PoolAxis (&axes)[3], const T* in, T* out, int64_t* indices) {
  const PoolAxis &za = axes[0], &ya = axes[1], &xa = axes[2];
  each_output(axes, [&](int64_t i, size_t z, size_t y, size_t x) {
    const int64_t x_begin = xa.begin[x], x_end = xa.end[x];
    const bool none = za.begin[z] >= za.end[z] || ya.begin[y] >= ya.end[y] || x_begin >= x_end;
    T best = kLeast<T>;
    int64_t place = none ? 0 : (za.begin[z] * ya.in + ya.begin[y]) * xa.in + x_begin;
    for (int64_t a = za.begin[z]; a < za.end[z]; a += za.step) {
      for (int64_t b = ya.begin[y]; b < ya.end[y]; b += ya.step) {
        const int64_t row = (a * ya.in + b) * xa.in;
        for (int64_t c = row + x_begin; c < row + x_end; c += xa.step) {
          const bool better = (in[c] > best) | (in[c] != in[c]);
          best = chosen(better, in[c], best);
          place = chosen(better, c, place);
        }
      }
    }
    out[i] = best;
    if (indices) indices[i] = place;
  });
}

template <class Place, class T>
[[gnu::always_inline]] inline void greatest_by_stride(const PoolAxis (&axes)[3], const std::vector<RowTap>& taps,
                                                      const T* in, T* out, int64_t* indices) {
  if (axes[2].out() < kFewInRow) {
    const bool tiles = axes[0].in == 1 && axes[0].out() == 1 && side_by_side(axes[1]) && side_by_side(axes[2]) &&
                       axes[2].out() * axes[2].stride == axes[2].in && axes[1].in * axes[2].out() <= kTiles;
    if (!tiles) return greatest_of_few<T>(axes, in, out, indices);
    if (axes[2].stride == 2) {
      return indices ? greatest_of_tiles<true, 2, Place>(axes, in, out, indices)
                     : greatest_of_tiles<false, 2, Place>(axes, in, out, indices);
    }
    return indices ? greatest_of_tiles<true, 0, Place>(axes, in, out, indices)
                   : greatest_of_tiles<false, 0, Place>(axes, in, out, indices);
  }
  switch (axes[2].stride) {
    case 1: return greatest_of<1, Place>(axes, taps, in, out, indices);
    case 2: return greatest_of<2, Place>(axes, taps, in, out, indices);
    default: return greatest_of<0, Place>(axes, taps, in, out, indices);
  }
}

// One plane. Not templates: those cannot be compiled for several instruction sets. Places that are as wide as the
// elements are chosen among together with them.
ADJOINT_CLONES void greatest_of_plane(const PoolAxis (&axes)[3], const std::vector<RowTap>& taps, const float* in,
                                      float* out, int64_t* indices) {
  if (axes[0].in * axes[1].in * axes[2].in <= std::numeric_limits<int32_t>::max()) {
    greatest_by_stride<int32_t>(axes, taps, in, out, indices);
  } else {
    greatest_by_stride<int64_t>(axes, taps, in, out, indices);
  }
}
ADJOINT_CLONES void greatest_of_plane(const PoolAxis (&axes)[3], const std::vector<RowTap>& taps, const double* in,
                                      double* out, int64_t* indices) {
  greatest_by_stride<int64_t>(axes, taps, in, out, indices);
}
ADJOINT_CLONES void greatest_of_plane(const PoolAxis (&axes)[3], const std::vector<RowTap>& taps, const int64_t* in,
                                      int64_t* out, int64_t* indices) {
  greatest_by_stride<int64_t>(axes, taps, in, out, indices);
}

int64_t divisor_of(const PoolShape& shape, int64_t divisor, size_t z, size_t y, size_t x) {
  return divisor != 0 ? divisor : shape.axes[0].weight[z] * shape.axes[1].weight[y] * shape.axes[2].weight[x];
}

}  // namespace

template <class T>
void max_pool(const PoolShape& shape, const T* in, T* out, int64_t* indices) {
  const std::vector<RowTap> taps = row_taps(shape.axes[2]);
  each_plane(shape.planes, plane_work(shape), [&](int64_t plane) {
    greatest_of_plane(shape.axes, taps, in + plane * shape.in(), out + plane * shape.out(),
                      indices ? indices + plane * shape.out() : nullptr);
  });
}

template <class T>
void mean_pool(const PoolShape& shape, int64_t divisor, const T* in_data, T* out_data) {
  const PoolAxis &za = shape.axes[0], &ya = shape.axes[1], &xa = shape.axes[2];
  each_plane(shape.planes, plane_work(shape), [&](int64_t plane) {
    const T* in = in_data + plane * shape.in();
    T* out = out_data + plane * shape.out();
    each_output(shape.axes, [&](int64_t i, size_t z, size_t y, size_t x) {
      T sum = 0;
      const int64_t x_begin = xa.begin[x], x_end = xa.end[x];
      for (int64_t a = za.begin[z]; a < za.end[z]; ++a) {
        for (int64_t b = ya.begin[y]; b < ya.end[y]; ++b) {
          const T* row = in + (a * ya.in + b) * xa.in;
          for (int64_t c = x_begin; c < x_end; ++c) sum += row[c];
        }
      }
      out[i] = sum / static_cast<T>(divisor_of(shape, divisor, z, y, x));
    });
  });
}

template <class T>
void mean_pool_backward(const PoolShape& shape, int64_t divisor, const T* grad, T* out_data) {
  const PoolAxis &za = shape.axes[0], &ya = shape.axes[1], &xa = shape.axes[2];
  each_plane(shape.planes, plane_work(shape), [&](int64_t plane) {
    const T* g = grad + plane * shape.out();
    T* out = out_data + plane * shape.in();
    std::fill_n(out, shape.in(), T(0));
    each_output(shape.axes, [&](int64_t i, size_t z, size_t y, size_t x) {
      const T part = g[i] / static_cast<T>(divisor_of(shape, divisor, z, y, x));
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

template <class T>
void fractional_max_pool(int64_t planes, const int64_t (&in)[3], const int64_t (&kernel)[3],
                         const int64_t (&out_sizes)[3], const T* samples, const T* in_data, T* out, int64_t* indices) {
  const int64_t in_size = in[0] * in[1] * in[2], out_size = out_sizes[0] * out_sizes[1] * out_sizes[2];
  // The windows are worked out beforehand: threads must not run out of memory.
  std::vector<PoolAxis> axes(static_cast<size_t>(planes) * 3);
  for (int64_t plane = 0; plane < planes; ++plane) {
    for (int d = 0; d < 3; ++d) {
      PoolAxis& axis = axes[static_cast<size_t>(plane * 3 + d)];
      axis.in = in[d];
      const T sample = samples[plane * 3 + d];
      const T alpha = out_sizes[d] > 1 ? static_cast<T>(in[d] - kernel[d]) / static_cast<T>(out_sizes[d] - 1) : T(0);
      for (int64_t i = 0; i < out_sizes[d]; ++i) {
        int64_t start =
            static_cast<int64_t>((static_cast<T>(i) + sample) * alpha) - static_cast<int64_t>(sample * alpha);
        if (i == out_sizes[d] - 1) start = in[d] - kernel[d];
        start = std::clamp<int64_t>(start, 0, in[d] - kernel[d]);
        axis.add(start, start + kernel[d], 1);
      }
    }
  }
  each_plane(planes, out_size * kernel[0] * kernel[1] * kernel[2], [&](int64_t plane) {
    const auto& mine = *reinterpret_cast<const PoolAxis(*)[3]>(&axes[static_cast<size_t>(plane * 3)]);
    greatest_of_plane(mine, {}, in_data + plane * in_size, out + plane * out_size, indices + plane * out_size);
  });
}

template <class T>
void scatter_planes(int64_t planes, int64_t count, int64_t size, const T* in, const int64_t* indices, bool add,
                    const char* text, T* out) {
  const int64_t total = planes * count;
  const int64_t* wrong =
      std::find_if(indices, indices + total, [size](int64_t index) { return index < 0 || index >= size; });
  if (wrong != indices + total)
    fail("Found an invalid max index: ", *wrong, " (output volumes are of size ", text, ")");
  each_plane(planes, count + size, [&](int64_t plane) {
    T* target = out + plane * size;
    std::fill_n(target, size, T(0));
    for (int64_t i = plane * count; i < (plane + 1) * count; ++i) {
      if (add) {
        target[indices[i]] += in[i];
      } else {
        target[indices[i]] = in[i];
      }
    }
  });
}

#define ADJOINT_INSTANCES(T)                                           \
  template void max_pool<T>(const PoolShape&, const T*, T*, int64_t*); \
  template void mean_pool<T>(const PoolShape&, int64_t, const T*, T*); \
  template void scatter_planes<T>(int64_t, int64_t, int64_t, const T*, const int64_t*, bool, const char*, T*);
ADJOINT_INSTANCES(float)
ADJOINT_INSTANCES(double)
ADJOINT_INSTANCES(int64_t)
#undef ADJOINT_INSTANCES
#define ADJOINT_INSTANCES(T)                                                                                      \
  template void mean_pool_backward<T>(const PoolShape&, int64_t, const T*, T*);                                   \
  template void fractional_max_pool<T>(int64_t, const int64_t (&)[3], const int64_t (&)[3], const int64_t (&)[3], \
                                       const T*, const T*, T*, int64_t*);
ADJOINT_INSTANCES(float)
ADJOINT_INSTANCES(double)
#undef ADJOINT_INSTANCES

}  // namespace adjoint::kernels
