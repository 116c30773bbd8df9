// Samples of images at the points of a grid: each thread has a point, whose place and weights serve all channels.
#pragma once

#include "block.h"
#include "core/dtype.h"
#include "grid_args.h"

namespace adjoint::cuda {

// As kernels/grid.h has them.
enum class GridMode { Linear, Nearest, Cubic };
enum class GridPadding : int32_t { Zeros, Border, Reflection };

/// A coordinate in elements, and its derivative with respect to the grid's.
template <class T>
struct GridPlace {
  T at, slope;
};

template <class T>
inline GridPlace<T> in_elements(T coordinate, int64_t size, bool align_corners) {
  if (align_corners) return {(coordinate + T(1)) / T(2) * static_cast<T>(size - 1), static_cast<T>(size - 1) / T(2)};
  return {((coordinate + T(1)) * static_cast<T>(size) - T(1)) / T(2), static_cast<T>(size) / T(2)};
}

/// Thrown back at both ends: at the outer elements, or at their outer edges.
template <class T>
inline GridPlace<T> reflected(GridPlace<T> place, int64_t size, bool align_corners) {
  const T low = align_corners ? T(0) : T(-0.5);
  const T span = align_corners ? static_cast<T>(size - 1) : static_cast<T>(size);
  if (span == T(0)) return {T(0), T(0)};
  const T distance = std::fabs(place.at - low), sign = place.at < low ? T(-1) : T(1);
  const T extra = std::fmod(distance, span);
  const bool odd = std::fmod(std::floor(distance / span), T(2)) != T(0);
  return odd ? GridPlace<T>{span - extra + low, -sign * place.slope} : GridPlace<T>{extra + low, sign * place.slope};
}

template <class T>
inline GridPlace<T> inside(GridPlace<T> place, int64_t size, const GridArgs& args) {
  const GridPadding padding = static_cast<GridPadding>(args.padding);
  if (padding == GridPadding::Zeros || !std::isfinite(place.at)) return place;
  if (padding == GridPadding::Reflection) place = reflected(place, size, args.align_corners != 0);
  const T last = static_cast<T>(size - 1);
  if (place.at <= T(0)) return {T(0), T(0)};
  if (place.at >= last) return {last, T(0)};
  return place;
}

template <GridMode mode>
inline constexpr int kAxisTaps = mode == GridMode::Nearest  ? 1
                                 : mode == GridMode::Linear ? 2
                                                            : 4;
template <int dims, GridMode mode>
inline constexpr int kTaps = kAxisTaps<mode> * kAxisTaps<mode> * (dims == 3 ? kAxisTaps<mode> : 1);

/// The elements of one axis that a point reads: their index (-1: none), weight, and its first and second derivative.
template <class T, int count>
struct AxisTaps {
  int32_t index[count];
  T weight[count], first[count], second[count];

  void set(int t, int32_t i, T w, T d, T dd) {
    index[t] = i;
    weight[t] = w;
    first[t] = d;
    second[t] = dd;
  }
};

template <class T>
inline int32_t valid(T i, int64_t size) {
  return i >= T(0) && i < static_cast<T>(size) ? static_cast<int32_t>(i) : -1;
}

template <GridMode mode, class T>
inline AxisTaps<T, kAxisTaps<mode>> taps_at(T coordinate, int64_t size, const GridArgs& args) {
  AxisTaps<T, kAxisTaps<mode>> taps;
  GridPlace<T> place = in_elements(coordinate, size, args.align_corners != 0);
  if (mode != GridMode::Cubic) place = inside(place, size, args);
  const T floor = std::floor(place.at), beyond = place.at - floor, s = place.slope;
  if constexpr (mode == GridMode::Nearest) {
    taps.set(0, std::isfinite(place.at) ? valid(std::rint(place.at), size) : -1, T(1), T(0), T(0));
  } else if (!std::isfinite(place.at)) {
    constexpr T nan = std::numeric_limits<T>::quiet_NaN();
    taps.set(0, 0, nan, nan, nan);
#pragma unroll
    for (int t = 1; t < kAxisTaps<mode>; ++t) taps.set(t, -1, T(0), T(0), T(0));
  } else if constexpr (mode == GridMode::Linear) {
    taps.set(0, valid(floor, size), T(1) - beyond, -s, T(0));
    taps.set(1, valid(floor + T(1), size), beyond, s, T(0));
  } else {
    constexpr T a = T(-0.75);
#pragma unroll
    for (int t = 0; t < 4; ++t) {
      // Keys' polynomial of the distance x, whose sign is that of its derivative.
      const T signed_distance = beyond + T(1) - static_cast<T>(t), x = std::fabs(signed_distance);
      const T sign = signed_distance < T(0) ? T(-1) : T(1);
      const bool near = t == 1 || t == 2;
      const T w =
          near ? ((a + T(2)) * x - (a + T(3))) * x * x + T(1) : ((a * x - T(5) * a) * x + T(8) * a) * x - T(4) * a;
      const T d = near ? (T(3) * (a + T(2)) * x - T(2) * (a + T(3))) * x : (T(3) * a * x - T(10) * a) * x + T(8) * a;
      const T dd = near ? T(6) * (a + T(2)) * x - T(2) * (a + T(3)) : T(6) * a * x - T(10) * a;
      const GridPlace<T> element = inside(GridPlace<T>{floor - T(1) + static_cast<T>(t), T(1)}, size, args);
      taps.set(t, valid(std::rint(element.at), size), w, d * sign * s, dd * s * s);
    }
  }
  return taps;
}

/// The taps of a point along all axes.
template <class T, int dims, GridMode mode>
struct PointTaps {
  static constexpr int kEach = kAxisTaps<mode>;
  AxisTaps<T, kEach> axis[dims];
  int32_t width, height;

  PointTaps(const GridArgs& args, int64_t point)
      : width(static_cast<int32_t>(args.size[0])), height(static_cast<int32_t>(args.size[1])) {
    const T* at = static_cast<const T*>(args.grid) + point * dims;
#pragma unroll
    for (int d = 0; d < dims; ++d) axis[d] = taps_at<mode>(at[d], args.size[d], args);
  }
  static int along(int tap, int d) {
    return d == 0 ? tap % kEach : d == 1 ? tap / kEach % kEach : tap / (kEach * kEach);
  }
  /// Which element of a plane it is, or -1.
  int32_t offset(int tap) const {
    const int32_t x = axis[0].index[along(tap, 0)], y = axis[1].index[along(tap, 1)];
    int32_t z = 0;
    if constexpr (dims == 3) z = axis[2].index[along(tap, 2)];
    return x < 0 || y < 0 || z < 0 ? -1 : (z * height + y) * width + x;
  }
  /// The product over the axes of weights, where axis `a` and axis `b` (if not negative) count with a derivative each.
  T weight(int tap, int a, int b) const {
    T value = T(1);
#pragma unroll
    for (int d = dims - 1; d >= 0; --d) {
      const int order = (d == a) + (d == b), t = along(tap, d);
      value *= order == 0 ? axis[d].weight[t] : order == 1 ? axis[d].first[t] : axis[d].second[t];
    }
    return value;
  }
};

/// The elements that a point reads and what they count, or what they do in the derivative along the direction.
template <class T, int dims, GridMode mode, bool derived>
struct PointSamples {
  static constexpr int kCount = kTaps<dims, mode>;
  int32_t offset[kCount];
  T weight[kCount];

  PointSamples(const GridArgs& args, int64_t point) {
    const PointTaps<T, dims, mode> taps(args, point);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      offset[k] = taps.offset(k);
      weight[k] = derived ? T(0) : taps.weight(k, -1, -1);
      if constexpr (derived) {
        const T* along = static_cast<const T*>(args.direction) + point * dims;
#pragma unroll
        for (int a = 0; a < dims; ++a) weight[k] += along[a] * taps.weight(k, a, -1);
      }
    }
  }
};

/// f(plane, sample) for the channels of this block: which plane of all images, and which sample.
template <class F>
inline void each_channel(const GridArgs& args, int64_t point, F f) {
  const int64_t image = point / args.points, p = point - image * args.points;
  const int64_t first = blockIdx.y * args.channels_each, last = std::min(first + args.channels_each, args.channels);
  for (int64_t c = image * args.channels + first; c < image * args.channels + last; ++c)
    f(c * args.plane, c * args.points + p);
}

template <class T, int dims, GridMode mode, bool derived>
inline void grid_sample(const GridArgs& args) {
  const int64_t point = thread_number<int64_t>();
  if (point >= args.batch * args.points) return;
  const PointSamples<T, dims, mode, derived> from(args, point);
  each_channel(args, point, [&](int64_t plane, int64_t sample) {
    const T* elements = static_cast<const T*>(args.image) + plane;
    T sum = T(0);
#pragma unroll
    for (int k = 0; k < from.kCount; ++k)
      if (from.offset[k] >= 0) sum += elements[from.offset[k]] * from.weight[k];
    static_cast<T*>(args.out)[sample] = sum;
  });
}

/// Points may share elements, to which they add as they come. The output is zero before.
template <class T, int dims, GridMode mode, bool derived>
inline void grid_image_grad(const GridArgs& args) {
  const int64_t point = thread_number<int64_t>();
  if (point >= args.batch * args.points) return;
  const PointSamples<T, dims, mode, derived> to(args, point);
  each_channel(args, point, [&](int64_t plane, int64_t sample) {
    T* elements = static_cast<T*>(args.out) + plane;
    const T g = static_cast<const T*>(args.samples)[sample];
#pragma unroll
    for (int k = 0; k < to.kCount; ++k)
      if (to.offset[k] >= 0) atomicAdd(elements + to.offset[k], to.weight[k] * g);
  });
}

/// The same in an order: first the elements that taps name ...
template <class T, int dims, GridMode mode, bool derived, class Key>
inline void number_taps(const GridArgs& args) {
  const int64_t point = thread_number<int64_t>(), count = args.batch * args.points;
  if (point >= count) return;
  const PointSamples<T, dims, mode, derived> to(args, point);
  const int64_t plane = point / args.points * args.plane, none = args.batch * args.plane;
#pragma unroll
  for (int k = 0; k < to.kCount; ++k) {
    const int64_t at = point * to.kCount + k;
    static_cast<Key*>(args.keys)[at] = static_cast<Key>(to.offset[k] < 0 ? none : plane + to.offset[k]);
    static_cast<T*>(args.weights)[at] = to.weight[k];
  }
}

/// ... and then, of sorted taps, the first of each element adds all of them up, channel by channel.
template <class T, class Key, int taps>
inline void sum_taps(const GridOwnerArgs& args) {
  const int64_t i = thread_number<int64_t>();
  if (i >= args.n) return;
  const Key* keys = static_cast<const Key*>(args.keys);
  const Key key = keys[i];
  if (static_cast<int64_t>(key) >= args.none || (i > 0 && keys[i - 1] == key)) return;
  const int64_t image = static_cast<int64_t>(key) / args.plane,
                element = static_cast<int64_t>(key) - image * args.plane;
  const int64_t first = blockIdx.y * args.channels_each, last = std::min(first + args.channels_each, args.channels);
  for (int64_t c = image * args.channels + first; c < image * args.channels + last; ++c) {
    // Samples of another image lie behind those of this one.
    const T* grad = static_cast<const T*>(args.grad) + c * args.points - image * args.points;
    T sum = T(0);
    for (int64_t j = i; j < args.n && keys[j] == key; ++j) {
      const uint32_t place = args.places[j];
      sum += static_cast<const T*>(args.weights)[place] * grad[place / taps];
    }
    static_cast<T*>(args.out)[c * args.plane + element] = sum;
  }
}

/// `group` neighbouring threads have a point, and take turns at the channels: 1, or a warp where points are few.
template <class T, int dims, GridMode mode, bool derived, int group>
inline void grid_grad(const GridArgs& args) {
  const int64_t number = thread_number<int64_t>(), point = number / group;
  if (point >= args.batch * args.points) return;  // all lanes of a group
  constexpr int kCount = kTaps<dims, mode>;
  const PointTaps<T, dims, mode> taps(args, point);
  const int64_t image = point / args.points, p = point - image * args.points;
  int32_t offset[kCount];
  T totals[kCount];
#pragma unroll
  for (int k = 0; k < kCount; ++k) {
    offset[k] = taps.offset(k);
    totals[k] = T(0);
  }
  for (int64_t c = image * args.channels + number % group; c < (image + 1) * args.channels; c += group) {
    const T* elements = static_cast<const T*>(args.image) + c * args.plane;
    const T g = static_cast<const T*>(args.samples)[c * args.points + p];
#pragma unroll
    for (int k = 0; k < kCount; ++k)
      if (offset[k] >= 0) totals[k] += elements[offset[k]] * g;
  }
#pragma unroll
  for (int k = 0; k < kCount; ++k) {
#pragma unroll
    for (int bit = 1; bit < group; bit *= 2) totals[k] += shuffled(totals[k], bit);
  }
  if (number % group != 0) return;
#pragma unroll
  for (int a = 0; a < dims; ++a) {
    T sum = T(0);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      if (offset[k] < 0) continue;
      T weight = T(0);
      if constexpr (derived) {
        const T* along = static_cast<const T*>(args.direction) + point * dims;
#pragma unroll
        for (int b = 0; b < dims; ++b) weight += along[b] * taps.weight(k, a, b);
      } else {
        weight = taps.weight(k, a, -1);
      }
      sum += weight * totals[k];
    }
    static_cast<T*>(args.out)[point * dims + a] = sum;
  }
}

}  // namespace adjoint::cuda
