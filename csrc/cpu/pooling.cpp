// Pooling: greatest elements and their places, and what goes back to them.
#include "cpu/pooling.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <memory>
#include <type_traits>

#include "cpu/pooling_detail.h"
#include "cpu/vector_math.h"

namespace adjoint::cpu {
namespace {

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

/// Elements of a wide window's row that compete at a time.
inline constexpr int64_t kLanes = 8;

/// Outputs [from, to) of a row, and one row of the input.
template <bool kPlaces, int kStride, class T, class Place>
[[gnu::always_inline]] inline void compete_in_row(const PoolAxis& axis, const std::vector<RowTap>& taps, const T* in,
                                                  int64_t row, int64_t from, int64_t to, T* best, Place* places) {
  for (const RowTap& any : taps) {
    const RowTap tap = any.within(from, to, axis.stride);
    const int64_t start = row + tap.start;
    compete<kPlaces, kStride>(in + start, static_cast<Place>(start), axis.stride, tap.begin, tap.end, best, places);
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

/// Greatest elements of rows of windows that are kept while they compete.
inline constexpr int64_t kTiles = 1024;

/// Windows side by side, which cover planes and rows: the layers of windows of all planes follow each other, and their
/// rows are one for the greatest of each window's rows, which then compete.
struct Tiling {
  int64_t in = 0, rows = 0, out = 0;  ///< of a layer: elements, greatest elements of rows of windows, outputs
  int64_t together = 0;               ///< layers that are pooled at a time; 0 where windows are not so

  explicit Tiling(const PoolAxis (&axes)[3]) {
    const PoolAxis &za = axes[0], &ya = axes[1], &xa = axes[2];
    const bool whole = side_by_side(za) && side_by_side(ya) && side_by_side(xa) && za.out() * za.stride == za.in &&
                       xa.out() * xa.stride == xa.in;
    if (!whole || xa.stride >= kLanes) return;
    in = za.stride * ya.in * xa.in;
    rows = za.stride * ya.in * xa.out();
    out = ya.out() * xa.out();
    together = kTiles / rows;
  }
};

/// Layers [begin, end) of all planes, at most as many as fit together.
template <bool kPlaces, int kStride, class Place, class T>
[[gnu::always_inline]] inline void greatest_of_tiles(const PoolAxis (&axes)[3], const Tiling& tiling, int64_t begin,
                                                     int64_t end, const T* in, T* out, int64_t* indices) {
  const PoolAxis &za = axes[0], &ya = axes[1], &xa = axes[2];
  const int64_t stride = kStride ? kStride : xa.stride, width = xa.out(), count = (end - begin) * tiling.rows;
  T best[kTiles];
  Place places[kPlaces ? kTiles : 1];
  in += begin * tiling.in;
  for (int64_t i = 0; i < count; ++i) {
    best[i] = in[i * stride];
    if constexpr (kPlaces) places[i] = static_cast<Place>(i * stride);
  }
  for (int64_t k = 1; k < stride; ++k)
    compete<kPlaces, kStride>(in + k, static_cast<Place>(k), stride, 0, count, best, places);
  for (int64_t layer = begin; layer < end; ++layer) {
    // Places count from the first layer here; in the result, from the first of the plane.
    [[maybe_unused]] const int64_t shift = (layer % za.out() - (layer - begin)) * tiling.in;
    for (int64_t y = 0; y < ya.out(); ++y) {
      const int64_t first = (layer - begin) * tiling.rows + y * ya.stride * width, to = layer * tiling.out + y * width;
      for (int64_t z = 0; z < za.stride; ++z) {
        for (int64_t b = z == 0; b < ya.stride; ++b) {
          const int64_t row = first + (z * ya.in + b) * width;
          for (int64_t x = 0; x < width; ++x) {
            const T rival = best[row + x];
            const bool better = (rival > best[first + x]) | (rival != rival);
            best[first + x] = chosen(better, rival, best[first + x]);
            if constexpr (kPlaces) places[first + x] = chosen(better, places[row + x], places[first + x]);
          }
        }
      }
      for (int64_t x = 0; x < width; ++x) out[to + x] = best[first + x];
      if constexpr (kPlaces) {
        for (int64_t x = 0; x < width; ++x) indices[to + x] = places[first + x] + shift;
      }
    }
  }
}

/// Windows along one axis, wherever they are kept.
struct WindowsOfAxis {
  int64_t in, step, count;
  const int64_t *begin, *end;
};

/// Elements [begin, end) along one axis, every so many.
struct Span {
  int64_t begin, end, step;
};

template <class T>
struct Winner {
  T value;
  int64_t place;
};

/// Rows of at least kLanes elements that are not apart: as many candidates, which are compared in the end. The last
/// elements of a row may be seen twice.
template <class Place, class T>
[[gnu::always_inline]] inline Winner<T> greatest_of_wide(Span z, Span y, Span x, int64_t height, int64_t width,
                                                         Winner<T> winner, const T* in) {
  T best[kLanes];
  Place places[kLanes];
  std::fill_n(best, kLanes, winner.value);
  std::fill_n(places, kLanes, static_cast<Place>(winner.place));
  for (int64_t a = z.begin; a < z.end; a += z.step) {
    for (int64_t b = y.begin; b < y.end; b += y.step) {
      const int64_t row = (a * height + b) * width;
      for (int64_t c = x.begin; c < x.end; c += kLanes) {
        const int64_t at = row + std::min(c, x.end - kLanes);
        compete<true, 1>(in + at, static_cast<Place>(at), 1, 0, kLanes, best, places);
      }
    }
  }
  for (int64_t i = 0; i < kLanes; ++i) {
    const bool nan = best[i] != best[i], before = places[i] < winner.place;
    const bool better =
        nan ? (winner.value == winner.value || !before) : best[i] > winner.value || (best[i] == winner.value && before);
    if (better) winner = {best[i], places[i]};
  }
  return winner;
}

template <class T>
[[gnu::always_inline]] inline Winner<T> greatest_of_narrow(Span z, Span y, Span x, int64_t height, int64_t width,
                                                           Winner<T> winner, const T* in) {
  for (int64_t a = z.begin; a < z.end; a += z.step) {
    for (int64_t b = y.begin; b < y.end; b += y.step) {
      const int64_t row = (a * height + b) * width;
      for (int64_t c = row + x.begin; c < row + x.end; c += x.step) {
        const bool better = (in[c] > winner.value) | (in[c] != in[c]);
        winner.value = chosen(better, in[c], winner.value);
        winner.place = chosen(better, c, winner.place);
      }
    }
  }
  return winner;
}

/// One window after the other.
template <class Place, class T>
[[gnu::always_inline]] inline void greatest_of_each(const WindowsOfAxis (&axes)[3], const T* in, T* out,
                                                    int64_t* indices) {
  const auto& [za, ya, xa] = axes;
  for (int64_t k = 0; k < za.count; ++k) {
    const Span z{za.begin[k], za.end[k], za.step};
    for (int64_t j = 0; j < ya.count; ++j) {
      const Span y{ya.begin[j], ya.end[j], ya.step};
      for (int64_t i = 0; i < xa.count; ++i) {
        const Span x{xa.begin[i], xa.end[i], xa.step};
        const bool none = z.begin >= z.end || y.begin >= y.end || x.begin >= x.end;
        Winner<T> winner{kLeast<T>, none ? 0 : (z.begin * ya.in + y.begin) * xa.in + x.begin};
        winner = x.step == 1 && x.end - x.begin >= kLanes ? greatest_of_wide<Place>(z, y, x, ya.in, xa.in, winner, in)
                                                          : greatest_of_narrow(z, y, x, ya.in, xa.in, winner, in);
        *out++ = winner.value;
        if (indices) *indices++ = winner.place;
      }
    }
  }
}

template <class Place, class T>
[[gnu::always_inline]] inline void greatest_by_stride(const PoolAxis (&axes)[3], const std::vector<RowTap>& taps,
                                                      const T* in, T* out, int64_t* indices) {
  switch (axes[2].stride) {
    case 1: return greatest_of<1, Place>(axes, taps, in, out, indices);
    case 2: return greatest_of<2, Place>(axes, taps, in, out, indices);
    default: return greatest_of<0, Place>(axes, taps, in, out, indices);
  }
}

template <int kStride, class Place, class T>
[[gnu::always_inline]] inline void greatest_of_layers(const PoolAxis (&axes)[3], const Tiling& tiling, int64_t begin,
                                                      int64_t end, const T* in, T* out, int64_t* indices) {
  indices ? greatest_of_tiles<true, kStride, Place>(axes, tiling, begin, end, in, out, indices)
          : greatest_of_tiles<false, kStride, Place>(axes, tiling, begin, end, in, out, indices);
}

// Not templates: those cannot be compiled for several instruction sets. Places that are as wide as the elements are
// chosen among together with them; those of a plane too large for that are wider.
#define ADJOINT_GREATEST(T, Place)                                                                                     \
  ADJOINT_CLONES void greatest_of_rows(const PoolAxis(&axes)[3], const std::vector<RowTap>& taps, const T* in, T* out, \
                                       int64_t* indices) {                                                             \
    axes[0].in* axes[1].in* axes[2].in <= std::numeric_limits<Place>::max()                                            \
        ? greatest_by_stride<Place>(axes, taps, in, out, indices)                                                      \
        : greatest_by_stride<int64_t>(axes, taps, in, out, indices);                                                   \
  }                                                                                                                    \
  ADJOINT_CLONES void greatest_of_windows(const WindowsOfAxis(&axes)[3], const T* in, T* out, int64_t* indices) {      \
    axes[0].in* axes[1].in* axes[2].in <= std::numeric_limits<Place>::max()                                            \
        ? greatest_of_each<Place>(axes, in, out, indices)                                                              \
        : greatest_of_each<int64_t>(axes, in, out, indices);                                                           \
  }                                                                                                                    \
  ADJOINT_CLONES void greatest_of_layers(const PoolAxis(&axes)[3], const Tiling& tiling, int64_t begin, int64_t end,   \
                                         const T* in, T* out, int64_t* indices) {                                      \
    axes[2].stride == 2 ? greatest_of_layers<2, Place>(axes, tiling, begin, end, in, out, indices)                     \
                        : greatest_of_layers<0, Place>(axes, tiling, begin, end, in, out, indices);                    \
  }
ADJOINT_GREATEST(float, int32_t)
ADJOINT_GREATEST(double, int64_t)
ADJOINT_GREATEST(int64_t, int64_t)
#undef ADJOINT_GREATEST

template <class T>
void greatest_of_planes(const PoolShape& shape, const T* in, T* out, int64_t* indices) {
  const Tiling tiling(shape.axes);
  if (tiling.together > 0) {
    const int64_t layers = shape.planes * shape.axes[0].out();
    return parallel_for(layers, std::max<int64_t>(1, kWork / tiling.in), [&](int64_t begin, int64_t end) {
      for (int64_t layer = begin; layer < end; layer += tiling.together)
        greatest_of_layers(shape.axes, tiling, layer, std::min(layer + tiling.together, end), in, out, indices);
    });
  }
  const PoolAxis& row = shape.axes[2];
  const bool by_window = row.stride == 0 || row.out() < kFewInRow || (row.stride >= kLanes && row.step == 1);
  const std::vector<RowTap> taps = row_taps(row);
  WindowsOfAxis windows[3];
  for (int d = 0; d < 3; ++d) {
    const PoolAxis& axis = shape.axes[d];
    windows[d] = {axis.in, axis.step, axis.out(), axis.begin.data(), axis.end.data()};
  }
  each_plane(shape.planes, plane_work(shape), [&](int64_t plane) {
    const T* from = in + plane * shape.in();
    T* to = out + plane * shape.out();
    int64_t* places = indices ? indices + plane * shape.out() : nullptr;
    by_window ? greatest_of_windows(windows, from, to, places) : greatest_of_rows(shape.axes, taps, from, to, places);
  });
}

/// Elements that take as long as a small window.
constexpr int64_t kApart = 16;

template <class T>
void fractional_planes(const kernels::PoolShape& shape, int dims, const T* samples, const T* in, T* out,
                       int64_t* indices) {
  const auto& axes = shape.axes;
  const int64_t count = axes[0].out + axes[1].out + axes[2].out;
  // The borders of the windows, two for each plane and output along an axis.
  auto room = std::make_unique_for_overwrite<int64_t[]>(static_cast<size_t>(shape.planes * count * 2));
  // Windows lie apart, and each has to come from memory.
  const int64_t window = std::max<int64_t>(kApart, axes[0].taps * axes[1].taps * axes[2].taps);
  each_plane(shape.planes, shape.out() * window, [&](int64_t plane) {
    WindowsOfAxis windows[3];
    int64_t* begin = room.get() + plane * count * 2;
    for (int d = 0; d < 3; ++d) {
      const int64_t outputs = axes[d].out, last = axes[d].in - axes[d].taps;
      const T sample = d < 3 - dims ? T(0) : samples[plane * dims + (dims == 3 ? d : 2 - d)];
      const T alpha = outputs > 1 ? static_cast<T>(last) / static_cast<T>(outputs - 1) : T(0);
      const int64_t first = static_cast<int64_t>(sample * alpha);
      for (int64_t i = 0; i < outputs; ++i) {
        const int64_t start = static_cast<int64_t>((static_cast<T>(i) + sample) * alpha) - first;
        begin[i] = i == outputs - 1 ? last : std::clamp<int64_t>(start, 0, last);
        begin[outputs + i] = begin[i] + axes[d].taps;
      }
      windows[d] = {axes[d].in, 1, outputs, begin, begin + outputs};
      begin += 2 * outputs;
    }
    greatest_of_windows(windows, in + plane * shape.in(), out + plane * shape.out(), indices + plane * shape.out());
  });
}

template <class T>
void scatter(int64_t planes, int64_t count, int64_t size, const T* in, const int64_t* indices, T* out, bool add) {
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

}  // namespace

void max_pool(const kernels::PoolShape& shape, const View& in, const View& out, const View* indices) {
  const PoolShape tables(shape);
  with_pooled(in.dtype, [&](auto tag) {
    using T = decltype(tag);
    greatest_of_planes(tables, in.as<const T>(), out.as<T>(), indices ? indices->as<int64_t>() : nullptr);
  });
}

void fractional_max_pool(const kernels::PoolShape& shape, int dims, const View& samples, const View& in,
                         const View& out, const View& indices) {
  with_pooled_real(in.dtype, [&](auto tag) {
    using T = decltype(tag);
    fractional_planes(shape, dims, samples.as<const T>(), in.as<const T>(), out.as<T>(), indices.as<int64_t>());
  });
}

std::optional<int64_t> scatter_planes(int64_t planes, const View& in, const View& indices, const View& out, bool add) {
  const int64_t total = in.numel(), size = out.numel() / planes;
  const auto* places = indices.as<const int64_t>();
  const int64_t* wrong = std::find_if(places, places + total, [size](int64_t i) { return i < 0 || i >= size; });
  if (wrong != places + total) return *wrong;
  with_pooled(in.dtype, [&](auto tag) {
    using T = decltype(tag);
    scatter(planes, total / planes, size, in.as<const T>(), places, out.as<T>(), add);
  });
  return std::nullopt;
}

}  // namespace adjoint::cpu
