// Convolutions of few channels, for which a product of matrices has too few rows; and the parts of complex weights.
#pragma once

#include "convolution.h"

namespace adjoint::cuda {

/// What sums of T are kept in.
template <class T>
using DirectSum = std::conditional_t<is_half_v<T>, float, T>;

/// The sizes of ConvArgs in W, which is 32 bits wide where places are: a division of 64 bits takes as long as all else.
template <class W>
struct DirectSizes {
  W wide[3], narrow[3], kernel[3], stride[3], padding[3], dilation[3], groups, wide_channels, narrow_channels;

  explicit DirectSizes(const ConvArgs& args)
      : groups(static_cast<W>(args.groups)),
        wide_channels(static_cast<W>(args.wide_channels)),
        narrow_channels(static_cast<W>(args.narrow_channels)) {
    for (int d = 0; d < 3; ++d) {
      wide[d] = static_cast<W>(args.wide[d]);
      narrow[d] = static_cast<W>(args.narrow[d]);
      kernel[d] = static_cast<W>(args.kernel[d]);
      stride[d] = static_cast<W>(args.stride[d]);
      padding[d] = static_cast<W>(args.padding[d]);
      dilation[d] = static_cast<W>(args.dilation[d]);
    }
  }

  /// Where tap `tap` of axis d meets a position of the result; -1: nowhere.
  template <Conv kind>
  W met(int d, W position, W tap) const {
    if constexpr (kind == Conv::Transposed) {
      const W from = position + padding[d] - tap * dilation[d];
      if (stride[d] == 1) return from < 0 || from >= narrow[d] ? -1 : from;
      return from < 0 || from % stride[d] != 0 || from / stride[d] >= narrow[d] ? -1 : from / stride[d];
    } else {
      const W at = position * stride[d] - padding[d] + tap * dilation[d];
      return at < 0 || at >= wide[d] ? -1 : at;
    }
  }
};

/// Each thread has one element of the result. The sizes of the kernel are known (or 0), and whether a group has one
/// channel.
template <Conv kind, class T, class W, bool one_channel, int depth, int height, int width>
inline void convolve_directly(const ConvArgs& args) {
  using S = DirectSum<T>;
  constexpr bool transposed = kind == Conv::Transposed;
  const DirectSizes<W> sizes(args);
  const W kernel[3] = {depth ? depth : sizes.kernel[0], height ? height : sizes.kernel[1],
                       width ? width : sizes.kernel[2]};
  const W rows = transposed ? sizes.wide_channels : sizes.narrow_channels, taps = volume(kernel);
  const W channels = one_channel ? 1 : transposed ? sizes.narrow_channels : sizes.wide_channels;
  const W(&from)[3] = transposed ? sizes.narrow : sizes.wide;
  const W(&to)[3] = transposed ? sizes.wide : sizes.narrow;
  const int64_t all = args.batch * args.groups * rows * volume(to);
  if (thread_number<int64_t>() >= all) return;
  const W number = thread_number<W>();
  W at[3];
  const W plane = places(number, to, at), entry = plane / rows, row = plane - entry * rows;
  const W group = entry % sizes.groups, step = volume(from);
  const T* image = reinterpret_cast<const T*>(args.image) + entry * channels * step;
  const T* weight = reinterpret_cast<const T*>(args.factor) + group * rows * channels * taps +
                    row * (transposed ? taps : channels * taps);
  const W weight_step = transposed ? rows * taps : taps;
  S sum = S(0);
#pragma unroll
  for (W a = 0; a < kernel[0]; ++a) {
    const W z = sizes.template met<kind>(0, at[0], a);
#pragma unroll
    for (W b = 0; b < kernel[1]; ++b) {
      const W y = sizes.template met<kind>(1, at[1], b);
#pragma unroll
      for (W c = 0; c < kernel[2]; ++c) {
        const W x = sizes.template met<kind>(2, at[2], c);
        if (z < 0 || y < 0 || x < 0) continue;
        const W place = (z * from[1] + y) * from[2] + x, tap = (a * kernel[1] + b) * kernel[2] + c;
        for (W channel = 0; channel < channels; ++channel)
          sum += convert<S>(image[channel * step + place]) * convert<S>(weight[channel * weight_step + tap]);
      }
    }
  }
  if (args.bias) sum += convert<S>(reinterpret_cast<const T*>(args.bias)[group * rows + row]);
  reinterpret_cast<T*>(args.out)[number] = convert<T>(sum);
}

/// Each block has a slice of the depth of one element of a weight's gradient; sums of slices are of DirectSum<T>.
template <class T, class To, class W>
inline void weight_directly(const ConvArgs& args) {
  using S = DirectSum<T>;
  __shared__ S parts[kConvThreads / 32];
  const DirectSizes<W> sizes(args);
  W tap[3];
  const W pair = places(static_cast<W>(blockIdx.x), sizes.kernel, tap), filter = pair / sizes.wide_channels;
  const W channel = pair - filter * sizes.wide_channels, group = filter / sizes.narrow_channels;
  const W positions = volume(sizes.narrow), step = volume(sizes.wide);
  const auto* grad = reinterpret_cast<const T*>(args.factor) + filter * positions;
  const auto* image = reinterpret_cast<const T*>(args.image) + (group * sizes.wide_channels + channel) * step;
  const W grad_step = sizes.groups * sizes.narrow_channels * positions;
  const W image_step = sizes.groups * sizes.wide_channels * step;
  const int64_t begin = blockIdx.y * args.slice_depth;
  const W end = static_cast<W>(std::min(begin + args.slice_depth, args.depth));
  S sum = S(0);
  for (W i = static_cast<W>(begin) + static_cast<W>(threadIdx.x); i < end; i += kConvThreads) {
    W at[3], from[3];
    const W n = places(i, sizes.narrow, at);
    bool inside = true;
#pragma unroll
    for (int d = 0; d < 3; ++d) {
      from[d] = sizes.template met<Conv::Weight>(d, at[d], tap[d]);
      inside = inside && from[d] >= 0;
    }
    if (inside)
      sum += convert<S>(grad[n * grad_step + i - n * positions]) *
             convert<S>(image[n * image_step + (from[0] * sizes.wide[1] + from[1]) * sizes.wide[2] + from[2]]);
  }
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_down_sync(0xffffffffu, sum, distance);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int i = 1; i < kConvThreads / 32; ++i) sum += parts[i];
  reinterpret_cast<To*>(args.out)[static_cast<int64_t>(blockIdx.y) * gridDim.x + blockIdx.x] = convert<To>(sum);
}

/// f(complex weight, places of re re, re im, im re, im im) for this thread's weight.
template <class R, class F>
inline void each_weight(const SplitWeightArgs& args, F f) {
  const int64_t i = thread_number<int64_t>();
  if (i >= args.numel) return;
  const int64_t b = i % args.inner, a = i / args.inner % args.first, group = i / args.inner / args.first;
  auto place = [&](int64_t first, int64_t second) {
    return reinterpret_cast<R*>(args.real) + (((group * 2 + first) * args.first + a) * 2 + second) * args.inner + b;
  };
  f(reinterpret_cast<std::complex<R>*>(args.complex)[i], place(0, 0), place(0, 1), place(1, 0), place(1, 1));
}

template <class R>
inline void split_weight(const SplitWeightArgs& args) {
  // An imaginary input makes -w.imag of a real output.
  each_weight<R>(args, [&](std::complex<R>& w, R* rr, R* ri, R* ir, R* ii) {
    *rr = *ii = w.real();
    *ri = args.transposed ? w.imag() : -w.imag();
    *ir = args.transposed ? -w.imag() : w.imag();
  });
}

template <class R>
inline void join_weight(const SplitWeightArgs& args) {
  each_weight<R>(args,
                 [](std::complex<R>& w, R* rr, R* ri, R* ir, R* ii) { w = std::complex<R>(*rr - *ii, *ri + *ir); });
}

}  // namespace adjoint::cuda
