// Convolutions as matrix products, one factor of which is read from the image as it is needed.
//
// Rows of a product are channels of the result. What a column and a step of the depth say together is a place in the
// image: coordinates of both are added up, and a place outside is a zero.
//   forward:    columns are narrow positions of all images, depth is (wide channel, tap)
//   transposed: columns are wide positions, depth is (narrow channel, tap). Positions that meet other taps are of other
//               classes, and one block has one class only: no tap is read in vain.
//   weight:     columns are (wide channel, tap), depth is the narrow positions of all images, in slices
#pragma once

#include "convolution_args.h"
#include "core/dtype.h"
#include "kernel.h"

namespace adjoint::cuda {

enum class Conv { Forward, Transposed, Weight };

inline constexpr int kConvSide = 64, kConvDepth = 16, kConvEach = 4, kConvThreads = 256;

template <class W>
inline W volume(const W (&sizes)[3]) {
  return sizes[0] * sizes[1] * sizes[2];
}

/// What one side knows of a place: coordinates, and how far away its channel lies, in the image and in the other
/// factor.
struct Spot {
  int64_t image, factor;
  int at[3];
};

/// A number as places along three axes, the last fastest, and what is left.
template <class W>
inline W places(W number, const W (&sizes)[3], W (&at)[3]) {
  for (int d = 2; d >= 0; --d) {
    const W rest = number / sizes[d];
    at[d] = number - rest * sizes[d];
    number = rest;
  }
  return number;
}

/// The positions and taps that a block works on. All of them, but for a class of a transposed convolution, in which
/// positions are a stride apart.
template <Conv kind>
struct Axes {
  int64_t positions[3], first_position[3], taps[3], first_tap[3];

  Axes(const ConvArgs& args, int64_t number) {
    for (int d = 2; d >= 0; --d) {
      first_position[d] = first_tap[d] = 0;
      positions[d] = args.narrow[d];
      taps[d] = args.kernel[d];
      if constexpr (kind == Conv::Transposed) {
        choose_class(args, d, number % args.stride[d]);
        number /= args.stride[d];
      }
    }
  }

  void choose_class(const ConvArgs& args, int d, int64_t first) {
    first_position[d] = first;
    positions[d] = first < args.wide[d] ? (args.wide[d] - first - 1) / args.stride[d] + 1 : 0;
    int64_t tap = 0;
    const int64_t from = first + args.padding[d];
    while (tap < args.tap_step[d] && (from - tap * args.dilation[d]) % args.stride[d] != 0) ++tap;
    const bool none = tap == args.tap_step[d] || tap >= args.kernel[d];
    first_tap[d] = tap;
    taps[d] = none ? 0 : (args.kernel[d] - 1 - tap) / args.tap_step[d] + 1;
  }

  /// Number `number` of (image, position), in group `group`.
  Spot position(const ConvArgs& args, int64_t number, int64_t group) const {
    int64_t at[3];
    const int64_t n = places(number, positions, at) * args.groups + group;
    Spot spot;
    const bool narrow = kind == Conv::Transposed;
    spot.image = n * (narrow ? args.narrow_channels * volume(args.narrow) : args.wide_channels * volume(args.wide));
    spot.factor =
        n * args.narrow_channels * volume(args.narrow) + (at[0] * args.narrow[1] + at[1]) * args.narrow[2] + at[2];
    for (int d = 0; d < 3; ++d)
      spot.at[d] = static_cast<int>(narrow ? at[d] : at[d] * args.stride[d] - args.padding[d]);
    return spot;
  }

  /// Number `number` of (channel of the image, tap).
  Spot tap(const ConvArgs& args, int64_t number) const {
    int64_t at[3];
    const int64_t channel = places(number, taps, at), size = volume(args.kernel);
    Spot spot;
    spot.factor = 0;
    for (int d = 0; d < 3; ++d) {
      const int64_t tap = first_tap[d] + at[d] * args.tap_step[d];
      spot.factor = spot.factor * args.kernel[d] + tap;
      spot.at[d] = static_cast<int>(
          kind == Conv::Transposed ? (first_position[d] + args.padding[d] - tap * args.dilation[d]) / args.stride[d]
                                   : tap * args.dilation[d]);
    }
    spot.factor += channel * (kind == Conv::Transposed ? args.wide_channels * size : size);
    spot.image = channel * (kind == Conv::Transposed ? volume(args.narrow) : volume(args.wide));
    return spot;
  }
};

template <Conv kind, class T>
inline T element(const ConvArgs& args, const Spot& a, const Spot& b) {
  const int64_t (&sizes)[3] = kind == Conv::Transposed ? args.narrow : args.wide;
  const int z = a.at[0] + b.at[0], y = a.at[1] + b.at[1], x = a.at[2] + b.at[2];
  if (z < 0 || y < 0 || x < 0 || z >= sizes[0] || y >= sizes[1] || x >= sizes[2]) return T(0);
  return reinterpret_cast<const T*>(args.image)[a.image + b.image + (z * sizes[1] + y) * sizes[2] + x];
}

/// One tile of a product: rows x columns of one group, of one class or slice.
template <Conv kind, class T>
struct ConvTile {
  const ConvArgs& args;
  int64_t group, part;  ///< a class, or a slice
  Axes<kind> axes;
  int64_t rows, columns, row, column, begin, end;

  ConvTile(const ConvArgs& given, int64_t number)
      : args(given), group(number % given.groups), part(number / given.groups), axes(given, part) {
    const int64_t per_image = volume(axes.taps);
    rows = kind == Conv::Transposed ? args.wide_channels : args.narrow_channels;
    begin = 0;
    if constexpr (kind == Conv::Weight) {
      columns = args.columns;
      begin = part * args.slice_depth;
      end = std::min<int64_t>(args.depth, begin + args.slice_depth);
    } else {
      columns = args.batch * volume(axes.positions);
      end = per_image * (kind == Conv::Transposed ? args.narrow_channels : args.wide_channels);
    }
    const int64_t across = (args.columns + kConvSide - 1) / kConvSide;
    row = blockIdx.x / across * kConvSide;
    column = blockIdx.x % across * kConvSide;
  }

  Spot column_spot(int64_t i) const {
    if constexpr (kind == Conv::Weight) return axes.tap(args, i);
    return axes.position(args, i, group);
  }
  Spot depth_spot(int64_t l) const {
    if constexpr (kind == Conv::Weight) return axes.position(args, l, group);
    return axes.tap(args, l);
  }
  /// Where the other factor of a row begins.
  const T* factor(int64_t r) const {
    const auto* data = reinterpret_cast<const T*>(args.factor);
    const int64_t taps = volume(args.kernel);
    if constexpr (kind == Conv::Weight) return data + r * volume(args.narrow);
    data += group * args.narrow_channels * args.wide_channels * taps;
    return data + r * (kind == Conv::Transposed ? taps : args.wide_channels * taps);
  }
  /// Where the element of a row and a column goes.
  int64_t place(int64_t r, int64_t i) const {
    if constexpr (kind == Conv::Weight) return ((part * args.groups + group) * rows + r) * columns + i;
    const int64_t (&sizes)[3] = kind == Conv::Transposed ? args.wide : args.narrow;
    int64_t at[3];
    const int64_t n = places(i, axes.positions, at) * args.groups + group;
    for (int d = 0; d < 3; ++d)
      if (kind == Conv::Transposed) at[d] = axes.first_position[d] + at[d] * args.stride[d];
    return (n * rows + r) * volume(sizes) + (at[0] * sizes[1] + at[1]) * sizes[2] + at[2];
  }

  void run() const {
    // Depth is looked up for as many steps at once as there are threads.
    __shared__ Spot steps[kConvThreads];
    alignas(16) __shared__ T left[kConvDepth][kConvSide + kConvEach];
    alignas(16) __shared__ T right[kConvDepth][kConvSide + kConvEach];
    const int thread = static_cast<int>(threadIdx.x);
    const int down = thread / kConvDepth * kConvEach, across = thread % kConvDepth * kConvEach;
    constexpr int kLoads = kConvSide * kConvDepth / kConvThreads;
    // Threads that follow each other read places that do: along the depth for the weight, along columns for the others.
    constexpr bool along_depth = kind == Conv::Weight;
    Spot own[along_depth ? kLoads : 1];
    for (int i = 0; i < (along_depth ? kLoads : 1); ++i) {
      const int64_t at = column + (along_depth ? thread / kConvDepth + i * kConvSide / kLoads : thread % kConvSide);
      own[i] = column_spot(at < columns ? at : 0);
    }
    T sums[kConvEach][kConvEach];
#pragma unroll
    for (int i = 0; i < kConvEach * kConvEach; ++i) sums[i / kConvEach][i % kConvEach] = T(0);
    for (int64_t depth = begin; depth < end; depth += kConvDepth) {
      const int step = static_cast<int>((depth - begin) % kConvThreads);
      if (step == 0) {
        if (depth + thread < end) steps[thread] = depth_spot(depth + thread);
        __syncthreads();
      }
#pragma unroll
      for (int load = 0; load < kLoads; ++load) {
        const int r = thread / kConvDepth + load * kConvSide / kLoads, deep = thread % kConvDepth;
        left[deep][r] = row + r < rows && depth + deep < end ? factor(row + r)[steps[step + deep].factor] : T(0);
        const int i = along_depth ? r : thread % kConvSide;
        const int l = along_depth ? deep : thread / kConvSide + load * kConvDepth / kLoads;
        const bool inside = column + i < columns && depth + l < end;
        right[l][i] = inside ? element<kind, T>(args, own[along_depth ? load : 0], steps[step + l]) : T(0);
      }
      __syncthreads();
      for (int l = 0; l < kConvDepth; ++l) {
        T x[kConvEach], y[kConvEach];
#pragma unroll
        for (int i = 0; i < kConvEach; ++i) x[i] = left[l][down + i], y[i] = right[l][across + i];
#pragma unroll
        for (int i = 0; i < kConvEach * kConvEach; ++i)
          sums[i / kConvEach][i % kConvEach] += x[i / kConvEach] * y[i % kConvEach];
      }
      __syncthreads();
    }
    store(sums, row + down, column + across);
  }

  void store(const T (&sums)[kConvEach][kConvEach], int64_t first_row, int64_t first_column) const {
    auto* out = reinterpret_cast<T*>(args.out);
    const auto* bias = reinterpret_cast<const T*>(args.bias);
#pragma unroll
    for (int j = 0; j < kConvEach; ++j) {
      if (first_column + j >= columns || first_row >= rows) continue;
      T* to = out + place(first_row, first_column + j);
      const int64_t step = place(first_row + 1, first_column + j) - place(first_row, first_column + j);
#pragma unroll
      for (int i = 0; i < kConvEach; ++i)
        if (first_row + i < rows) to[i * step] = sums[i][j] + (bias ? bias[group * rows + first_row + i] : T(0));
    }
  }
};

/// Groups and classes, or slices, are counted along blockIdx.y.
template <Conv kind, class T>
inline void convolve(const ConvArgs& args) {
  const int64_t parts = args.groups * (kind == Conv::Weight ? args.slices : args.classes);
  for (int64_t number = blockIdx.y; number < parts; number += gridDim.y) {
    const ConvTile<kind, T> tile(args, number);
    if (tile.column < tile.columns) tile.run();
    __syncthreads();
  }
}

/// The slices of a weight's gradient, always added in the same order.
template <class T, class To>
inline void sum_slices(const SumSlicesArgs& args) {
  const int64_t i = thread_number<int64_t>();
  if (i >= args.numel) return;
  T sum = T(0);
  for (int64_t s = 0; s < args.slices; ++s) sum += reinterpret_cast<const T*>(args.parts)[s * args.numel + i];
  reinterpret_cast<To*>(args.out)[i] = convert<To>(sum);
}

}  // namespace adjoint::cuda
