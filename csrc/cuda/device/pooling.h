// Pooling: each thread has one element of what is written.
#pragma once

#include "core/dtype.h"
#include "kernel.h"
#include "pooling_args.h"

namespace adjoint::cuda {

/// The elements of one window along an axis: begin, begin + step, ... before end.
template <class W>
struct Window {
  W begin, end, weight;
};

template <class W>
inline Window<W> window_of(const PoolWindows<W>& axis, W i) {
  if (axis.adaptive) {
    const W from = i * axis.in / axis.out, to = ((i + 1) * axis.in + axis.out - 1) / axis.out;
    return {from, to, to - from};
  }
  W from = i * axis.stride - axis.padding;
  const W reach = from + axis.step * (axis.taps - 1) + 1;
  const W to = std::min(reach, axis.in), padded = std::min(reach, axis.in + axis.padding) - from;
  if (from < 0) from += (-from + axis.step - 1) / axis.step * axis.step;
  return {from, to, axis.counts_padding ? padded : to - from};
}

/// Where an element of planes of these axes lies.
template <class W>
struct PoolPlace {
  W plane, at[3];

  PoolPlace(W number, W z, W y, W x) {
    const W rest = number / x;
    at[2] = number - rest * x;
    const W rows = rest / y;
    at[1] = rest - rows * y;
    plane = rows / z;
    at[0] = rows - plane * z;
  }
};

template <class T>
constexpr T least_of() {
  if constexpr (std::numeric_limits<T>::has_infinity) return -std::numeric_limits<T>::infinity();
  return std::numeric_limits<T>::lowest();
}

/// The greatest element of a window: the first of equals, but the last NaN; without elements place 0.
template <class T, class W>
inline void write_greatest(const PoolArgs<W>& args, W number, const T* plane, const Window<W> (&windows)[3]) {
  const PoolWindows<W>*y = &args.axes[1], *x = &args.axes[2];
  T best = least_of<T>();
  bool some = true;
  for (const Window<W>& window : windows) some = some && window.begin < window.end;
  W place = some ? (windows[0].begin * y->in + windows[1].begin) * x->in + windows[2].begin : 0;
  for (W a = windows[0].begin; a < windows[0].end; a += args.axes[0].step)
    for (W b = windows[1].begin; b < windows[1].end; b += y->step)
      for (W c = windows[2].begin; c < windows[2].end; c += x->step) {
        const W here = (a * y->in + b) * x->in + c;
        const T value = plane[here];
        if (value > best || value != value) {
          best = value;
          place = here;
        }
      }
  static_cast<T*>(args.out)[number] = best;
  if (args.indices) args.indices[number] = place;
}

template <class T, class W>
inline const T* plane_of(const PoolArgs<W>& args, W plane) {
  return static_cast<const T*>(args.in) + plane * args.axes[0].in * args.axes[1].in * args.axes[2].in;
}

template <class T, class W>
inline void max_pool(const PoolArgs<W>& args) {
  const W number = thread_number<W>();
  if (number >= args.numel) return;
  const PoolPlace<W> place(number, args.axes[0].out, args.axes[1].out, args.axes[2].out);
  const Window<W> windows[3] = {window_of(args.axes[0], place.at[0]), window_of(args.axes[1], place.at[1]),
                                window_of(args.axes[2], place.at[2])};
  write_greatest(args, number, plane_of<T>(args, place.plane), windows);
}

template <class T, class W>
inline void fractional_max_pool(const PoolArgs<W>& args) {
  const W number = thread_number<W>();
  if (number >= args.numel) return;
  const PoolPlace<W> place(number, args.axes[0].out, args.axes[1].out, args.axes[2].out);
  Window<W> windows[3];
  for (int d = 0; d < 3; ++d) {
    const PoolWindows<W>& axis = args.axes[d];
    const W last = axis.in - axis.taps, i = place.at[d];
    const T sample = d < 3 - args.dims
                         ? T(0)
                         : static_cast<const T*>(args.samples)[place.plane * args.dims + (args.dims == 3 ? d : 2 - d)];
    const T alpha = axis.out > 1 ? static_cast<T>(last) / static_cast<T>(axis.out - 1) : T(0);
    const W start = static_cast<W>((static_cast<T>(i) + sample) * alpha) - static_cast<W>(sample * alpha);
    const W begin = i == axis.out - 1 ? last : std::min(std::max<W>(start, 0), last);
    windows[d] = {begin, begin + axis.taps, 0};
  }
  write_greatest(args, number, plane_of<T>(args, place.plane), windows);
}

template <class T, class W>
inline T pool_divisor(const PoolArgs<W>& args, const Window<W>& z, const Window<W>& y, const Window<W>& x) {
  return static_cast<T>(args.divisor ? args.divisor : int64_t{z.weight} * y.weight * x.weight);
}

template <class T, class W>
inline void mean_pool(const PoolArgs<W>& args) {
  const W number = thread_number<W>();
  if (number >= args.numel) return;
  const PoolPlace<W> place(number, args.axes[0].out, args.axes[1].out, args.axes[2].out);
  const T* plane = plane_of<T>(args, place.plane);
  const Window<W> z = window_of(args.axes[0], place.at[0]), y = window_of(args.axes[1], place.at[1]),
                  x = window_of(args.axes[2], place.at[2]);
  T sum = 0;
  for (W a = z.begin; a < z.end; ++a)
    for (W b = y.begin; b < y.end; ++b)
      for (W c = x.begin; c < x.end; ++c) sum += plane[(a * args.axes[1].in + b) * args.axes[2].in + c];
  static_cast<T*>(args.out)[number] = sum / pool_divisor<T>(args, z, y, x);
}

/// The windows that an element may be in: the first, and the one after the last.
template <class W>
inline Window<W> windows_with(const PoolWindows<W>& axis, W at) {
  if (axis.adaptive) return {at * axis.out / axis.in, ((at + 1) * axis.out - 1) / axis.in + 1, 0};
  const W from = at + axis.padding - axis.taps + 1;
  const W first = from <= 0 ? 0 : (from + axis.stride - 1) / axis.stride;
  return {first, std::min((at + axis.padding) / axis.stride + 1, axis.out), 0};
}

/// Here the input is a gradient; an element has its shares of all windows that it is in.
template <class T, class W>
inline void mean_pool_backward(const PoolArgs<W>& args) {
  const W number = thread_number<W>();
  if (number >= args.numel) return;
  const PoolWindows<W>&za = args.axes[0], &ya = args.axes[1], &xa = args.axes[2];
  const PoolPlace<W> place(number, za.in, ya.in, xa.in);
  const T* g = static_cast<const T*>(args.in) + place.plane * za.out * ya.out * xa.out;
  const Window<W> zs = windows_with(za, place.at[0]), ys = windows_with(ya, place.at[1]),
                  xs = windows_with(xa, place.at[2]);
  T sum = 0;
  for (W a = zs.begin; a < zs.end; ++a) {
    const Window<W> z = window_of(za, a);
    for (W b = ys.begin; b < ys.end; ++b) {
      const Window<W> y = window_of(ya, b);
      for (W c = xs.begin; c < xs.end; ++c)
        sum += g[(a * ya.out + b) * xa.out + c] / pool_divisor<T>(args, z, y, window_of(xa, c));
    }
  }
  static_cast<T*>(args.out)[number] = sum;
}

}  // namespace adjoint::cuda
