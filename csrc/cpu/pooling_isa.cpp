#include "cpu/pooling_isa.h"

#include <bit>
#include <limits>
#include <type_traits>

#include "cpu/vector_math.h"

namespace adjoint::cpu {
namespace {

inline int64_t least_of(int64_t a, int64_t b) { return a < b ? a : b; }

// ---- Greatest elements

/// condition ? a : b without a jump, which could not be foreseen.
template <class T>
inline T select(bool condition, T a, T b) {
  using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  const Bits x = std::bit_cast<Bits>(a), y = std::bit_cast<Bits>(b);
  return std::bit_cast<T>(y ^ ((x ^ y) & (Bits{0} - Bits{condition})));
}

template <class T>
constexpr T kLeast =
    std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();

/// The first element of window x, in the row that begins at `row`; 0 when there is none but padding.
inline int64_t first_place(const PoolWindows& axis, int64_t x, int64_t row) {
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
    best[x] = select(better, value, best[x]);
    if constexpr (kPlaces) places[x] = select(better, static_cast<Place>(place + x * stride), places[x]);
  }
}

/// Outputs [from, to) of a row, and one row of the input.
template <bool kPlaces, int kStride, class T, class Place>
[[gnu::always_inline]] inline void compete_in_row(const PoolWindows& axis, RowTaps taps, const T* in, int64_t row,
                                                  int64_t from, int64_t to, T* best, Place* places) {
  for (const RowTap& any : taps) {
    const RowTap tap = any.within(from, to, axis.stride);
    const int64_t start = row + tap.start;
    compete<kPlaces, kStride>(in + start, static_cast<Place>(start), axis.stride, tap.begin, tap.end, best, places);
  }
}

template <bool kPlaces, int kStride, class Place, class T>
void greatest(const PoolWindows (&axes)[3], RowTaps taps, const T* in, T* out, int64_t* indices) {
  const PoolWindows &za = axes[0], &ya = axes[1], &xa = axes[2];
  Place places[kPlaces ? kPoolBlock : 1];
  for (int64_t z = 0; z < za.out; ++z) {
    for (int64_t y = 0; y < ya.out; ++y) {
      const int64_t first = (za.begin[z] * ya.in + ya.begin[y]) * xa.in;
      const bool none = za.begin[z] >= za.end[z] || ya.begin[y] >= ya.end[y];
      for (int64_t from = 0; from < xa.out; from += kPoolBlock) {
        const int64_t count = least_of(kPoolBlock, xa.out - from);
        for (int64_t x = 0; x < count; ++x) {
          out[x] = kLeast<T>;
          if constexpr (kPlaces) places[x] = static_cast<Place>(none ? 0 : first_place(xa, from + x, first));
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
void greatest_of(const PoolWindows (&axes)[3], RowTaps taps, const T* in, T* out, int64_t* indices) {
  if (indices) {
    greatest<true, kStride, Place>(axes, taps, in, out, indices);
  } else {
    greatest<false, kStride, Place>(axes, taps, in, out, indices);
  }
}

/// Layers [begin, end) of all planes, at most as many as fit together.
template <bool kPlaces, int kStride, class Place, class T>
void greatest_of_tiles(const PoolWindows (&axes)[3], const PoolTiling& tiling, int64_t begin, int64_t end, const T* in,
                       T* out, int64_t* indices) {
  const PoolWindows &za = axes[0], &ya = axes[1], &xa = axes[2];
  const int64_t stride = kStride ? kStride : xa.stride, width = xa.out, count = (end - begin) * tiling.rows;
  T best[kPoolTiles];
  Place places[kPlaces ? kPoolTiles : 1];
  in += begin * tiling.in;
  for (int64_t i = 0; i < count; ++i) {
    best[i] = in[i * stride];
    if constexpr (kPlaces) places[i] = static_cast<Place>(i * stride);
  }
  for (int64_t k = 1; k < stride; ++k)
    compete<kPlaces, kStride>(in + k, static_cast<Place>(k), stride, 0, count, best, places);
  for (int64_t layer = begin; layer < end; ++layer) {
    // Places count from the first layer here; in the result, from the first of the plane.
    [[maybe_unused]] const int64_t shift = (layer % za.out - (layer - begin)) * tiling.in;
    for (int64_t y = 0; y < ya.out; ++y) {
      const int64_t first = (layer - begin) * tiling.rows + y * ya.stride * width, to = layer * tiling.out + y * width;
      for (int64_t z = 0; z < za.stride; ++z) {
        for (int64_t b = z == 0; b < ya.stride; ++b) {
          const int64_t row = first + (z * ya.in + b) * width;
          for (int64_t x = 0; x < width; ++x) {
            const T rival = best[row + x];
            const bool better = (rival > best[first + x]) | (rival != rival);
            best[first + x] = select(better, rival, best[first + x]);
            if constexpr (kPlaces) places[first + x] = select(better, places[row + x], places[first + x]);
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

/// Elements [begin, end) along one axis, every so many.
struct Span {
  int64_t begin, end, step;
};

template <class T>
struct Winner {
  T value;
  int64_t place;
};

/// Rows of at least kWideLanes elements that are not apart: as many candidates, which are compared in the end. The last
/// elements of a row may be seen twice.
template <class Place, class T>
[[gnu::always_inline]] inline Winner<T> greatest_of_wide(Span z, Span y, Span x, int64_t height, int64_t width,
                                                         Winner<T> winner, const T* in) {
  T best[kWideLanes];
  Place places[kWideLanes];
  for (T& value : best) value = winner.value;
  for (Place& place : places) place = static_cast<Place>(winner.place);
  for (int64_t a = z.begin; a < z.end; a += z.step) {
    for (int64_t b = y.begin; b < y.end; b += y.step) {
      const int64_t row = (a * height + b) * width;
      for (int64_t c = x.begin; c < x.end; c += kWideLanes) {
        const int64_t at = row + least_of(c, x.end - kWideLanes);
        compete<true, 1>(in + at, static_cast<Place>(at), 1, 0, kWideLanes, best, places);
      }
    }
  }
  for (int64_t i = 0; i < kWideLanes; ++i) {
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
        winner.value = select(better, in[c], winner.value);
        winner.place = select(better, c, winner.place);
      }
    }
  }
  return winner;
}

/// One window after the other.
template <class Place, class T>
void greatest_of_each(const PoolWindows (&axes)[3], const T* in, T* out, int64_t* indices) {
  const auto& [za, ya, xa] = axes;
  for (int64_t k = 0; k < za.out; ++k) {
    const Span z{za.begin[k], za.end[k], za.step};
    for (int64_t j = 0; j < ya.out; ++j) {
      const Span y{ya.begin[j], ya.end[j], ya.step};
      for (int64_t i = 0; i < xa.out; ++i) {
        const Span x{xa.begin[i], xa.end[i], xa.step};
        const bool none = z.begin >= z.end || y.begin >= y.end || x.begin >= x.end;
        Winner<T> winner{kLeast<T>, none ? 0 : (z.begin * ya.in + y.begin) * xa.in + x.begin};
        winner = x.step == 1 && x.end - x.begin >= kWideLanes
                     ? greatest_of_wide<Place>(z, y, x, ya.in, xa.in, winner, in)
                     : greatest_of_narrow(z, y, x, ya.in, xa.in, winner, in);
        *out++ = winner.value;
        if (indices) *indices++ = winner.place;
      }
    }
  }
}

/// Places are chosen among together with elements, and are as wide; those of a plane too large for that are wider.
template <class T>
using PlaceOf = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;

template <class T>
bool places_fit(const PoolWindows (&axes)[3]) {
  return axes[0].in * axes[1].in * axes[2].in <= std::numeric_limits<PlaceOf<T>>::max();
}

template <class T>
void greatest_of_rows(const PoolWindows (&axes)[3], RowTaps taps, const T* in, T* out, int64_t* indices) {
  if (!places_fit<T>(axes)) return greatest_of<0, int64_t>(axes, taps, in, out, indices);
  switch (axes[2].stride) {
    case 1: return greatest_of<1, PlaceOf<T>>(axes, taps, in, out, indices);
    case 2: return greatest_of<2, PlaceOf<T>>(axes, taps, in, out, indices);
    default: return greatest_of<0, PlaceOf<T>>(axes, taps, in, out, indices);
  }
}

template <class T>
void greatest_of_windows(const PoolWindows (&axes)[3], const T* in, T* out, int64_t* indices) {
  places_fit<T>(axes) ? greatest_of_each<PlaceOf<T>>(axes, in, out, indices)
                      : greatest_of_each<int64_t>(axes, in, out, indices);
}

template <int kStride, class T>
void greatest_of_layers(const PoolWindows (&axes)[3], const PoolTiling& tiling, int64_t begin, int64_t end, const T* in,
                        T* out, int64_t* indices) {
  indices ? greatest_of_tiles<true, kStride, PlaceOf<T>>(axes, tiling, begin, end, in, out, indices)
          : greatest_of_tiles<false, kStride, PlaceOf<T>>(axes, tiling, begin, end, in, out, indices);
}

template <class T>
void greatest_of_layers(const PoolWindows (&axes)[3], const PoolTiling& tiling, int64_t begin, int64_t end, const T* in,
                        T* out, int64_t* indices) {
  axes[2].stride == 2 ? greatest_of_layers<2>(axes, tiling, begin, end, in, out, indices)
                      : greatest_of_layers<0>(axes, tiling, begin, end, in, out, indices);
}

// ---- Means

/// out = sums / divisor, or by the elements that the windows count for; for outputs [from, from + count) of row (z, y).
template <class T>
[[gnu::always_inline]] inline void divide(const PoolWindows (&axes)[3], int64_t divisor, int64_t z, int64_t y,
                                          int64_t from, int64_t count, const T* sums, T* out) {
  if (divisor != 0) {
    for (int64_t x = 0; x < count; ++x) out[x] = sums[x] / static_cast<T>(divisor);
    return;
  }
  const int64_t weight = axes[0].weight[z] * axes[1].weight[y], *weights = axes[2].weight + from;
  ADJOINT_INDEPENDENT
  for (int64_t x = 0; x < count; ++x) out[x] = sums[x] / static_cast<T>(weight * weights[x]);
}

/// Means by rows of outputs: all of them take their first element, then their second. The stride of windows is known
/// when this is compiled, or 0.
template <int kStride, class T>
void means(const PoolWindows (&axes)[3], RowTaps taps, int64_t divisor, const T* __restrict in, T* __restrict out) {
  const PoolWindows &za = axes[0], &ya = axes[1], &xa = axes[2];
  const int64_t stride = kStride ? kStride : xa.stride;
  for (int64_t z = 0; z < za.out; ++z) {
    for (int64_t y = 0; y < ya.out; ++y) {
      for (int64_t from = 0; from < xa.out; from += kPoolBlock) {
        const int64_t count = least_of(kPoolBlock, xa.out - from);
        for (int64_t x = 0; x < count; ++x) out[x] = T(0);
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
void share_out(const PoolWindows (&axes)[3], RowTaps taps, int64_t divisor, const T* __restrict grad,
               T* __restrict out) {
  const PoolWindows &za = axes[0], &ya = axes[1], &xa = axes[2];
  const int64_t stride = kStride ? kStride : xa.stride;
  T shares[kPoolBlock];
  for (int64_t z = 0; z < za.out; ++z) {
    for (int64_t y = 0; y < ya.out; ++y) {
      for (int64_t from = 0; from < xa.out; from += kPoolBlock) {
        const int64_t count = least_of(kPoolBlock, xa.out - from);
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

template <class T>
void means_of_rows(const PoolWindows (&axes)[3], RowTaps taps, int64_t divisor, const T* in, T* out) {
  switch (axes[2].stride) {
    case 1: return means<1>(axes, taps, divisor, in, out);
    case 2: return means<2>(axes, taps, divisor, in, out);
    default: return means<0>(axes, taps, divisor, in, out);
  }
}

template <class T>
void share_out_rows(const PoolWindows (&axes)[3], RowTaps taps, int64_t divisor, const T* grad, T* out) {
  switch (axes[2].stride) {
    case 1: return share_out<1>(axes, taps, divisor, grad, out);
    case 2: return share_out<2>(axes, taps, divisor, grad, out);
    default: return share_out<0>(axes, taps, divisor, grad, out);
  }
}

template <class T>
constexpr PoolLoops<T> kLoops = {.greatest_of_rows = greatest_of_rows<T>,
                                 .greatest_of_windows = greatest_of_windows<T>,
                                 .greatest_of_layers = greatest_of_layers<T>,
                                 .means_of_rows = means_of_rows<T>};
template <class T>
constexpr PoolGradLoops<T> kGradLoops = {.share_out_rows = share_out_rows<T>};

}  // namespace

template <class T>
template <Isa>
PoolLoops<T> PoolLoops<T>::compiled() {
  return kLoops<T>;
}
template PoolLoops<float> PoolLoops<float>::compiled<kIsa>();
template PoolLoops<double> PoolLoops<double>::compiled<kIsa>();
template PoolLoops<int64_t> PoolLoops<int64_t>::compiled<kIsa>();

template <class T>
template <Isa>
PoolGradLoops<T> PoolGradLoops<T>::compiled() {
  return kGradLoops<T>;
}
template PoolGradLoops<float> PoolGradLoops<float>::compiled<kIsa>();
template PoolGradLoops<double> PoolGradLoops<double>::compiled<kIsa>();

}  // namespace adjoint::cpu
