// Resampling of planes by filters against aliasing, which have as many weights as the scale asks for: they are found
// first, a thread for each output of an axis, and then each thread has one element of what is written.
#pragma once

#include "filters_args.h"
#include "resampling.h"

namespace adjoint::cuda {

template <class R>
struct LinearFilter {
  static constexpr int kRadius = 1;
  static R at(R x) { return std::abs(x) < R(1) ? R(1) - std::abs(x) : R(0); }
};
template <class R>
struct CubicFilter {
  static constexpr int kRadius = 2;
  static R at(R x) { return cubic(x, R(-0.5)); }
};
template <class R>
struct LanczosFilter {
  static constexpr int kRadius = 3;
  static R at(R x) {
    constexpr R pi = R(3.14159265358979323846);
    if (x == R(0)) return R(1);
    return std::abs(x) < R(3) ? R(3) * std::sin(pi * x) * std::sin(pi * x / R(3)) / (pi * pi * x * x) : R(0);
  }
};

template <template <class> class Filter, class R, class W>
inline void find_weights(const FilterArgs<W>& args) {
  const W number = thread_number<W>();
  if (number >= args.numel) return;
  const bool second = number >= args.axes[0].out;
  const FilterAxis<W>& axis = args.axes[second];
  const W i = second ? number - args.axes[0].out : number;
  W* window = axis.windows + 2 * i;
  R* weights = static_cast<R*>(axis.weights) + i * axis.taps;
  if (axis.kept) {
    window[0] = i;
    window[1] = 1;
    weights[0] = R(1);
    return;
  }
  const R step = static_cast<R>(axis.step), radius = R(Filter<R>::kRadius);
  const R reach = step >= R(1) ? radius * step : radius, inverse = step >= R(1) ? R(1) / step : R(1);
  const R center = step * (static_cast<R>(i) + R(0.5));
  const W from = clamped(static_cast<W>(center - reach + R(0.5)), W{0}, axis.in - 1);
  const W to = clamped(static_cast<W>(center + reach + R(0.5)), from + 1, axis.in);
  const W count = std::min(to - from, axis.taps);
  R total = 0;
  for (W t = 0; t < count; ++t) {
    weights[t] = Filter<R>::at((static_cast<R>(t + from) - center + R(0.5)) * inverse);
    total += weights[t];
  }
  for (W t = 0; t < count; ++t) weights[t] = total != R(0) ? weights[t] / total : R(0);
  window[0] = from;
  window[1] = count;
}

/// Output i of an axis: the elements that it is made of and their weights.
template <class R, class W>
struct Window {
  W first, count;
  const R* weights;
  Window(const FilterAxis<W>& axis, W i)
      : first(axis.windows[2 * i]),
        count(axis.windows[2 * i + 1]),
        weights(static_cast<const R*>(axis.weights) + i * axis.taps) {}
  R weight_on(W at) const { return at < first || at - first >= count ? R(0) : weights[at - first]; }
};

template <class T, class W>
inline void filter_planes(const FilterArgs<W>& args) {
  const W number = thread_number<W>();
  if (number >= args.numel) return;
  const FilterAxis<W>&ya = args.axes[0], &xa = args.axes[1];
  const PlanePlace<W> at(number, 1, ya.out, xa.out);
  const Window<T, W> ys(ya, at.y), xs(xa, at.x);
  const T* row = static_cast<const T*>(args.in) + (at.plane * ya.in + ys.first) * xa.in + xs.first;
  T sum = 0;
  for (W b = 0; b < ys.count; ++b, row += xa.in) {
    T along = 0;
    for (W c = 0; c < xs.count; ++c) along += xs.weights[c] * row[c];
    sum += ys.weights[b] * along;
  }
  static_cast<T*>(args.out)[number] = sum;
}

/// The outputs whose windows may have an element in them.
template <int radius, class W>
inline Candidates<W> windows_over(const FilterAxis<W>& axis, W at) {
  if (axis.kept) return {at, 1, 1};
  if (axis.step <= 0) return {0, 1, axis.out};
  const double reach = radius * std::max(axis.step, 1.0) + 2, last = static_cast<double>(axis.out - 1);
  const double low = (static_cast<double>(at) - reach) / axis.step - 1,
               high = (static_cast<double>(at) + reach) / axis.step + 1;
  const W from = at == 0 ? W{0} : static_cast<W>(std::min(std::max(low, 0.0), last));
  const W to = at == axis.in - 1 ? axis.out - 1 : static_cast<W>(std::min(std::max(high, 0.0), last));
  return {from, 1, to - from + 1};
}

/// The transpose: here the input is a gradient, with the sizes of outputs.
template <int radius, class T, class W>
inline void filter_planes_backward(const FilterArgs<W>& args) {
  const W number = thread_number<W>();
  if (number >= args.numel) return;
  const FilterAxis<W>&ya = args.axes[0], &xa = args.axes[1];
  const PlanePlace<W> at(number, 1, ya.in, xa.in);
  const Candidates<W> ys = windows_over<radius>(ya, at.y), xs = windows_over<radius>(xa, at.x);
  const T* g = static_cast<const T*>(args.in) + at.plane * ya.out * xa.out;
  T sum = 0;
  for (W y = ys.first; y < ys.first + ys.count; ++y) {
    const T weight = Window<T, W>(ya, y).weight_on(at.y);
    if (weight == T(0)) continue;
    T along = 0;
    for (W x = xs.first; x < xs.first + xs.count; ++x) {
      const T its = Window<T, W>(xa, x).weight_on(at.x);
      if (its != T(0)) along += its * g[y * xa.out + x];
    }
    sum += weight * along;
  }
  static_cast<T*>(args.out)[number] = sum;
}

}  // namespace adjoint::cuda
