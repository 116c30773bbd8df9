// Resampling of planes: each thread has one element of what is written, and finds the others from its place.
#pragma once

#include "core/dtype.h"
#include "kernel.h"
#include "resampling_args.h"
#include "walk_args.h"

namespace adjoint::cuda {

enum class Resample { Nearest, NearestExact, Linear, Cubic, Replicate, Reflect, Circular };

/// How many elements of the input make an output along one axis, at most.
template <Resample mode>
inline constexpr int kMostTaps = mode == Resample::Linear  ? 2
                                 : mode == Resample::Cubic ? 4
                                                           : 1;

/// These elements, and their weights; `visit` calls f(index, weight) for each.
template <Resample mode, class R, class W>
struct Taps {
  int count;
  W index[kMostTaps<mode>];
  R weight[kMostTaps<mode>];

  template <class F>
  void visit(F f) const {
#pragma unroll
    for (int t = 0; t < kMostTaps<mode>; ++t)
      if (t < count) f(index[t], weight[t]);
  }
};

template <class W>
inline W clamped(W value, W low, W high) {
  return value < low ? low : value > high ? high : value;
}

/// Keys' cubic convolution at a distance.
template <class R>
inline R cubic(R x, R a) {
  x = x < R(0) ? -x : x;
  if (x < R(1)) return ((a + R(2)) * x - (a + R(3))) * x * x + R(1);
  if (x < R(2)) return (((x - R(5)) * x + R(8)) * x - R(4)) * a;
  return R(0);
}

/// The element of a padded axis that stands at output i.
template <Resample mode, class W>
inline W padded_index(const ResampleAxis<W>& axis, W i) {
  W place = i - axis.before;
  if constexpr (mode == Resample::Replicate) return clamped(place, 0, axis.in - 1);
  if constexpr (mode == Resample::Circular) {
    // What negative padding cuts off does not come back at the other end.
    const W cut = axis.before < 0 ? -axis.before : 0, left = axis.in - cut - (axis.after < 0 ? -axis.after : 0);
    return cut + ((place - cut) % left + left) % left;
  }
  if (place < 0) place = -place;
  return place >= axis.in ? 2 * (axis.in - 1) - place : place;
}

template <Resample mode, bool align, class R, class W>
inline Taps<mode, R, W> taps_of(const ResampleAxis<W>& axis, W i) {
  Taps<mode, R, W> taps;
  taps.count = 1;
  taps.weight[0] = R(1);
  if (axis.kept) {
    taps.index[0] = i;
  } else if constexpr (mode == Resample::Nearest || mode == Resample::NearestExact) {
    const float step = static_cast<float>(axis.step);
    const float place =
        mode == Resample::Nearest ? static_cast<float>(i) * step : (static_cast<float>(i) + 0.5f) * step;
    taps.index[0] = static_cast<W>(std::min(std::floor(place), static_cast<float>(axis.in - 1)));
  } else if constexpr (mode == Resample::Linear || mode == Resample::Cubic) {
    const R step = static_cast<R>(axis.step);
    R place = align ? step * static_cast<R>(i) : step * (static_cast<R>(i) + R(0.5)) - R(0.5);
    if constexpr (mode == Resample::Linear) {
      place = std::max(place, R(0));
      const W first = std::min(static_cast<W>(place), axis.in - 1);
      const R beyond = std::min(std::max(place - static_cast<R>(first), R(0)), R(1));
      taps.count = 2;
      taps.index[0] = first;
      taps.index[1] = std::min(first + 1, axis.in - 1);
      taps.weight[0] = R(1) - beyond;
      taps.weight[1] = beyond;
    } else {
      const R floor = std::floor(place), beyond = place - floor;
      taps.count = 4;
      for (int t = 0; t < 4; ++t) {
        taps.index[t] = clamped(static_cast<W>(floor) - 1 + t, 0, axis.in - 1);
        taps.weight[t] = cubic(beyond + R(1) - static_cast<R>(t), R(-0.75));
      }
    }
  } else {
    taps.index[0] = padded_index<mode>(axis, i);
  }
  return taps;
}

/// Where an element of planes of these sizes lies.
template <class W>
struct PlanePlace {
  W plane, z, y, x;
  PlanePlace(W number, W depth, W height, W width) {
    const W line = number / width, rows = line / height;
    x = number - line * width;
    y = line - rows * height;
    plane = rows / depth;
    z = rows - plane * depth;
  }
};

/// Elements that are only moved.
template <Resample mode, bool align, class Word, class W>
inline void resample_move(const ResampleArgs<W>& args) {
  const W number = thread_number<W>();
  if (number >= args.numel) return;
  const ResampleAxis<W>&za = args.axes[0], &ya = args.axes[1], &xa = args.axes[2];
  const PlanePlace<W> at(number, za.out, ya.out, xa.out);
  const W z = taps_of<mode, align, float>(za, at.z).index[0], y = taps_of<mode, align, float>(ya, at.y).index[0],
          x = taps_of<mode, align, float>(xa, at.x).index[0];
  static_cast<Word*>(args.out)[number] =
      static_cast<const Word*>(args.in)[((at.plane * za.in + z) * ya.in + y) * xa.in + x];
}

template <Resample mode, bool align, class T, class W>
inline void resample_interpolate(const ResampleArgs<W>& args) {
  const W number = thread_number<W>();
  if (number >= args.numel) return;
  const ResampleAxis<W>&za = args.axes[0], &ya = args.axes[1], &xa = args.axes[2];
  const PlanePlace<W> at(number, za.out, ya.out, xa.out);
  const auto zs = taps_of<mode, align, T>(za, at.z), ys = taps_of<mode, align, T>(ya, at.y),
             xs = taps_of<mode, align, T>(xa, at.x);
  const T* plane = static_cast<const T*>(args.in) + at.plane * za.in * ya.in * xa.in;
  T sum = 0;
  xs.visit([&](W x, T along_x) {
    T blend = 0;
    zs.visit([&](W z, T along_z) {
      ys.visit([&](W y, T along_y) { blend += along_z * along_y * plane[(z * ya.in + y) * xa.in + x]; });
    });
    sum += along_x * blend;
  });
  static_cast<T*>(args.out)[number] = sum;
}

/// Outputs that an element of the input may be part of: first, first + step, ... so many.
template <class W>
struct Candidates {
  W first, step, count;
};

template <class W>
inline Candidates<W> between(const ResampleAxis<W>& axis, W low, W high) {
  low = std::max(low, W{0});
  high = std::min(high, axis.out - 1);
  return {low, 1, high < low ? 0 : high - low + 1};
}

template <Resample mode, bool align, class W>
inline Candidates<W> candidates_of(const ResampleAxis<W>& axis, W at) {
  // Outputs before the first element have shares of the second one, too, of nothing.
  const bool first = at <= (mode == Resample::Linear ? 1 : 0), last = at == axis.in - 1;
  if (axis.kept) return {at, 1, 1};
  if constexpr (mode == Resample::Circular) {
    const W cut = axis.before < 0 ? -axis.before : 0, left = axis.in - cut - (axis.after < 0 ? -axis.after : 0);
    const W start = ((at + axis.before) % left + left) % left;
    return {start, left, start < axis.out ? (axis.out - 1 - start) / left + 1 : 0};
  } else if constexpr (mode == Resample::Replicate) {
    return between(axis, first ? 0 : at + axis.before, last ? axis.out - 1 : at + axis.before);
  } else if constexpr (mode == Resample::Reflect) {
    return {0, 1, 3};
  } else {
    // Positions are monotone; the ends of the input stand for what lies beyond them.
    constexpr double reach = mode == Resample::Cubic ? 2 : 1;
    if (axis.step <= 0) return between(axis, W{0}, axis.out - 1);
    // Positions are rounded, and begin at 0 or at half an element.
    const bool nearest = mode == Resample::Nearest || mode == Resample::NearestExact;
    const double begin = align || nearest ? 0 : 0.5, slack = 1 + 1e-6 * static_cast<double>(axis.out);
    const double low = (static_cast<double>(at) + begin - reach) / axis.step - begin - slack,
                 high = (static_cast<double>(at) + begin + reach) / axis.step - begin + slack;
    return between(axis, first ? W{0} : static_cast<W>(low),
                   last || high >= static_cast<double>(axis.out) ? axis.out - 1 : static_cast<W>(high));
  }
}

/// Candidate k of an element, or -1; of a reflection they are itself and its images at both ends.
template <Resample mode, class W>
inline W candidate(const ResampleAxis<W>& axis, const Candidates<W>& from, W at, W k) {
  if (mode != Resample::Reflect || axis.kept) return from.first + k * from.step;
  if ((k == 1 && at == 0) || (k == 2 && at == axis.in - 1)) return -1;
  const W i = axis.before + (k == 0 ? at : k == 1 ? -at : 2 * (axis.in - 1) - at);
  return i >= 0 && i < axis.out ? i : -1;
}

/// Whether an output has an element of the input for a part, and with which weight.
template <Resample mode, bool align, class R, class W>
inline bool weight_on(const ResampleAxis<W>& axis, W i, W at, R& weight) {
  if (i < 0) return false;
  bool part = false;
  weight = R(0);
  taps_of<mode, align, R>(axis, i).visit([&](W index, R its) {
    if (index != at) return;
    weight += its;
    part = true;
  });
  return part;
}

template <class T, class R>
inline T scaled(T value, R weight) {
  if constexpr (is_complex_v<T>) {
    return T(value.real() * weight, value.imag() * weight);
  } else {
    return value * weight;
  }
}

/// The transpose of either: here the input is a gradient, with the sizes of outputs.
template <Resample mode, bool align, class T, class W>
inline void resample_backward(const ResampleArgs<W>& args) {
  using R = typename RealOf<T>::type;
  const W number = thread_number<W>();
  if (number >= args.numel) return;
  const ResampleAxis<W>&za = args.axes[0], &ya = args.axes[1], &xa = args.axes[2];
  const PlanePlace<W> at(number, za.in, ya.in, xa.in);
  const Candidates<W> zs = candidates_of<mode, align>(za, at.z), ys = candidates_of<mode, align>(ya, at.y),
                      xs = candidates_of<mode, align>(xa, at.x);
  const T* g = static_cast<const T*>(args.in) + at.plane * za.out * ya.out * xa.out;
  T sum = T(0);
  R wz, wy, wx;
  for (W a = 0; a < zs.count; ++a) {
    const W z = candidate<mode>(za, zs, at.z, a);
    if (!weight_on<mode, align>(za, z, at.z, wz)) continue;
    for (W b = 0; b < ys.count; ++b) {
      const W y = candidate<mode>(ya, ys, at.y, b);
      if (!weight_on<mode, align>(ya, y, at.y, wy)) continue;
      for (W c = 0; c < xs.count; ++c) {
        const W x = candidate<mode>(xa, xs, at.x, c);
        if (weight_on<mode, align>(xa, x, at.x, wx)) sum += scaled(g[(z * ya.out + y) * xa.out + x], wz * wy * wx);
      }
    }
  }
  static_cast<T*>(args.out)[number] = sum;
}

}  // namespace adjoint::cuda
