// Convolutions of few channels, for which a product of matrices has too few rows; and the parts of complex weights.
#pragma once

#include "convolution.h"

namespace adjoint::cuda {

/// Where tap `tap` of axis d meets a position of the result; -1: nowhere.
template <Conv kind>
inline int64_t met(const ConvArgs& args, int d, int64_t position, int64_t tap) {
  if constexpr (kind == Conv::Transposed) {
    const int64_t from = position + args.padding[d] - tap * args.dilation[d];
    return from < 0 || from % args.stride[d] != 0 || from / args.stride[d] >= args.narrow[d] ? -1
                                                                                             : from / args.stride[d];
  } else {
    const int64_t at = position * args.stride[d] - args.padding[d] + tap * args.dilation[d];
    return at < 0 || at >= args.wide[d] ? -1 : at;
  }
}

/// Each thread has one element of the result.
template <Conv kind, class T>
inline void convolve_directly(const ConvArgs& args) {
  constexpr bool transposed = kind == Conv::Transposed;
  const int64_t rows = transposed ? args.wide_channels : args.narrow_channels;
  const int64_t channels = transposed ? args.narrow_channels : args.wide_channels, taps = volume(args.kernel);
  const int64_t (&from)[3] = transposed ? args.narrow : args.wide;
  const int64_t (&to)[3] = transposed ? args.wide : args.narrow;
  const int64_t number = thread_number<int64_t>();
  if (number >= args.batch * args.groups * rows * volume(to)) return;
  int64_t at[3];
  const int64_t plane = places(number, to, at), row = plane % rows, entry = plane / rows, group = entry % args.groups;
  const T* image = reinterpret_cast<const T*>(args.image) + entry * channels * volume(from);
  const T* weight = reinterpret_cast<const T*>(args.factor) + group * rows * channels * taps +
                    row * (transposed ? taps : channels * taps);
  const int64_t weight_step = transposed ? rows * taps : taps;
  T sum = T(0);
  for (int64_t a = 0; a < args.kernel[0]; ++a) {
    const int64_t z = met<kind>(args, 0, at[0], a);
    for (int64_t b = 0; z >= 0 && b < args.kernel[1]; ++b) {
      const int64_t y = met<kind>(args, 1, at[1], b);
      for (int64_t c = 0; y >= 0 && c < args.kernel[2]; ++c) {
        const int64_t x = met<kind>(args, 2, at[2], c);
        if (x < 0) continue;
        const int64_t place = (z * from[1] + y) * from[2] + x, tap = (a * args.kernel[1] + b) * args.kernel[2] + c;
        for (int64_t channel = 0; channel < channels; ++channel)
          sum += image[channel * volume(from) + place] * weight[channel * weight_step + tap];
      }
    }
  }
  if (args.bias) sum += reinterpret_cast<const T*>(args.bias)[group * rows + row];
  reinterpret_cast<T*>(args.out)[number] = sum;
}

/// Each block has one element of a weight's gradient.
template <class T>
inline void weight_directly(const ConvArgs& args) {
  __shared__ T parts[kConvThreads / 32];
  int64_t tap[3];
  const int64_t pair = places(blockIdx.x, args.kernel, tap), channel = pair % args.wide_channels;
  const int64_t filter = pair / args.wide_channels, group = filter / args.narrow_channels;
  const int64_t positions = volume(args.narrow);
  T sum = T(0);
  for (int64_t i = threadIdx.x; i < args.batch * positions; i += kConvThreads) {
    int64_t at[3], from[3];
    const int64_t n = places(i, args.narrow, at);
    bool inside = true;
    for (int d = 0; d < 3; ++d) {
      from[d] = met<Conv::Weight>(args, d, at[d], tap[d]);
      inside = inside && from[d] >= 0;
    }
    if (!inside) continue;
    const int64_t plane = (n * args.groups + group) * args.wide_channels + channel;
    sum += reinterpret_cast<const T*>(
               args.factor)[n * args.groups * args.narrow_channels * positions + filter * positions + i % positions] *
           reinterpret_cast<const T*>(
               args.image)[plane * volume(args.wide) + (from[0] * args.wide[1] + from[1]) * args.wide[2] + from[2]];
  }
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int i = 1; i < kConvThreads / 32; ++i) sum += parts[i];
  reinterpret_cast<T*>(args.out)[blockIdx.x] = sum;
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
