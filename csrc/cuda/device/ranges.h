// Numbers in a row: each thread finds one from its place.
#pragma once

#include "cpu/math.h"
#include "kernel.h"
#include "ranges_args.h"

namespace adjoint::cuda {

template <class T>
inline void arange(const RangeArgs& args) {
  const int64_t i = thread_number<int64_t>();
  if (i >= args.n) return;
  T* out = reinterpret_cast<T*>(args.out);
  if constexpr (std::is_integral_v<T>) {
    const auto first = static_cast<uint64_t>(args.start.to<int64_t>());
    out[i] = static_cast<T>(first + static_cast<uint64_t>(i) * static_cast<uint64_t>(args.end.to<int64_t>()));
  } else {
    out[i] = convert<T>(args.start.to<double>() + static_cast<double>(i) * args.end.to<double>());
  }
}

/// Counts are real: an infinite part of a complex number leaves the other alone.
template <class W, class Count>
inline W times_count(W step, Count count) {
  if constexpr (is_complex_v<W>) {
    return W(step.real() * count, step.imag() * count);
  } else {
    return step * count;
  }
}

template <class W>
struct CountOf {
  using type = W;
};
template <class R>
struct CountOf<std::complex<R>> {
  using type = R;
};

/// Evenly spaced numbers, counted from the nearer end; `power`: the base to the power of these.
template <class T, bool power>
inline void linspace(const RangeArgs& args) {
  using W = std::conditional_t<std::is_same_v<T, double> || is_complex_v<T>, T, float>;
  using Count = typename CountOf<W>::type;
  const int64_t i = thread_number<int64_t>();
  if (i >= args.n) return;
  const W first = convert<W>(args.start.to<T>()), last = convert<W>(args.end.to<T>());
  const W step = args.n > 1 ? (last - first) / static_cast<Count>(args.n - 1) : W(0);
  const int64_t half = args.n == 1 ? 1 : args.n / 2;
  W value = i < half ? first + times_count(step, static_cast<Count>(i))
                     : last - times_count(step, static_cast<Count>(args.n - 1 - i));
  if constexpr (power) value = std::pow(static_cast<W>(static_cast<Count>(args.base)), value);
  reinterpret_cast<T*>(args.out)[i] = convert<T>(value);
}

}  // namespace adjoint::cuda
