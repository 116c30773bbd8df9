// The inner loops of convolutions: a block of results in registers.
#include "cpu/convolution_isa.h"

#include <utility>

#include "cpu/vector_math.h"

namespace adjoint::cpu {
namespace {

template <class T>
struct VectorOf {
  typedef T Type __attribute__((vector_size(kVectorBytes), aligned(alignof(T)), may_alias));
};
template <class T>
inline constexpr int kLanes = kVectorBytes / sizeof(T);
/// What the registers hold: accumulators of this many pixels and of this many rows of a weight's gradient.
inline constexpr int kMostPixels = kVectorBytes == 64 ? 14 : 6;
inline constexpr int kGradRows = kVectorBytes == 64 ? 8 : 6;

/// sums[pixel][channel] (+)= in[offset + pixel] * weight[channel], over all offsets.
template <class T, int Pixels, int Vectors>
void pixels_by_channels(const T* in, const int64_t* offsets, int64_t depth, const T* weight, T* sums, bool add) {
  using Vector = typename VectorOf<T>::Type;
  Vector total[Pixels][Vectors] = {};
  Vector* target = reinterpret_cast<Vector*>(sums);
  if (add) {
#pragma GCC unroll 16
    for (int p = 0; p < Pixels; ++p) {
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v) total[p][v] = target[p * Vectors + v];
    }
  }
  const Vector* w = reinterpret_cast<const Vector*>(weight);
  for (int64_t k = 0; k < depth; ++k, w += Vectors) {
    const T* x = in + offsets[k];
    Vector factor[Vectors];
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) factor[v] = w[v];
#pragma GCC unroll 16
    for (int p = 0; p < Pixels; ++p) {
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v) total[p][v] += x[p] * factor[v];
    }
  }
#pragma GCC unroll 16
  for (int p = 0; p < Pixels; ++p) {
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) target[p * Vectors + v] = total[p][v];
  }
}

/// out[channel][pixel] = bias[channel] + in[offset + pixel] * weight[channel], over all offsets: for few channels.
/// Vectors begin no later than at pixel `last`: the end of a row overlaps what comes before it.
template <class T, int Channels, int Vectors>
void channels_by_pixels(const T* in, const int64_t* offsets, int64_t depth, const T* weight, const T* bias, T* out,
                        int64_t out_row, int64_t last) {
  using Vector = typename VectorOf<T>::Type;
  int64_t start[Vectors];
  Vector total[Channels][Vectors];
#pragma GCC unroll 4
  for (int v = 0; v < Vectors; ++v) {
    start[v] = v * kLanes<T> < last ? v * kLanes<T> : last;
#pragma GCC unroll 4
    for (int c = 0; c < Channels; ++c) total[c][v] = Vector{} + bias[c];
  }
  for (int64_t k = 0; k < depth; ++k, weight += Channels) {
    const T* x = in + offsets[k];
    Vector value[Vectors];
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) value[v] = *reinterpret_cast<const Vector*>(x + start[v]);
#pragma GCC unroll 4
    for (int c = 0; c < Channels; ++c) {
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) total[c][v] += weight[c] * value[v];
    }
  }
#pragma GCC unroll 4
  for (int c = 0; c < Channels; ++c) {
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) *reinterpret_cast<Vector*>(out + c * out_row + start[v]) = total[c][v];
  }
}

/// sums[row][channel] += in[row][position] * grad[position][channel], over all positions.
template <class T, int Vectors>
void grad_by_channels(const T* const* in, const GradWalk& walk, const T* grad, T* sums) {
  using Vector = typename VectorOf<T>::Type;
  constexpr int rows = kGradRows;
  Vector total[rows][Vectors];
  Vector* target = reinterpret_cast<Vector*>(sums);
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) total[r][v] = target[r * Vectors + v];
  }
  const Vector* g = reinterpret_cast<const Vector*>(grad);
  for (int64_t z = 0; z < walk.count[0]; ++z) {
    for (int64_t y = 0; y < walk.count[1]; ++y) {
      const int64_t start = z * walk.step[0] + y * walk.step[1];
      const T* x[rows];
#pragma GCC unroll 8
      for (int r = 0; r < rows; ++r) x[r] = in[r] + start;
      for (int64_t i = 0; i < walk.count[2]; ++i, g += Vectors) {
        Vector factor[Vectors];
#pragma GCC unroll 2
        for (int v = 0; v < Vectors; ++v) factor[v] = g[v];
#pragma GCC unroll 8
        for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 2
          for (int v = 0; v < Vectors; ++v) total[r][v] += x[r][i] * factor[v];
        }
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) target[r * Vectors + v] = total[r][v];
  }
}

/// sums[row] += in[row][position] * grad[position] for one channel, whose rows begin at whole vectors and end in zeros.
template <class T>
void grad_by_pixels(const T* const* in, const GradWalk& walk, const T* grad, T* sums) {
  using Vector = typename VectorOf<T>::Type;
  constexpr int rows = kGradRows;
  constexpr int lanes = kLanes<T>;
  const int64_t whole = walk.count[2] / lanes;
  const int rest = static_cast<int>(walk.count[2] % lanes);
  Vector lane = {};
#pragma GCC unroll 16
  for (int v = 0; v < lanes; ++v) lane[v] = static_cast<T>(v);
  Vector total[rows] = {};
  const Vector* g = reinterpret_cast<const Vector*>(grad);
  for (int64_t z = 0; z < walk.count[0]; ++z) {
    for (int64_t y = 0; y < walk.count[1]; ++y) {
      const int64_t start = z * walk.step[0] + y * walk.step[1];
      const Vector* x[rows];
#pragma GCC unroll 8
      for (int r = 0; r < rows; ++r) x[r] = reinterpret_cast<const Vector*>(in[r] + start);
      for (int64_t i = 0; i < whole; ++i, ++g) {
#pragma GCC unroll 8
        for (int r = 0; r < rows; ++r) total[r] += x[r][i] * *g;
      }
      if (rest > 0) {
        // What lies behind the row may be infinite, and zero times that is not zero.
        const auto inside = lane < static_cast<T>(rest);
#pragma GCC unroll 8
        for (int r = 0; r < rows; ++r) total[r] += (inside ? x[r][whole] : Vector{}) * *g;
        ++g;
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
    T sum = 0;
#pragma GCC unroll 16
    for (int v = 0; v < lanes; ++v) sum += total[r][v];
    sums[r] += sum;
  }
}

template <class T, int... Halves>
constexpr ConvLoops<T> loops_of(std::integer_sequence<int, Halves...>) {
  ConvLoops<T> table = {};
  table.lanes = kLanes<T>;
  table.most_pixels = kMostPixels;
  table.grad_rows = kGradRows;
  ((table.by_channels[0][Halves] = pixels_by_channels<T, 2 * Halves + 2, 1>), ...);
  ((table.by_channels[1][Halves] = pixels_by_channels<T, 2 * Halves + 2, 2>), ...);
  table.by_pixels[0][0] = channels_by_pixels<T, 1, 1>;
  table.by_pixels[0][1] = channels_by_pixels<T, 1, 2>;
  table.by_pixels[0][2] = channels_by_pixels<T, 1, 3>;
  table.by_pixels[0][3] = channels_by_pixels<T, 1, 4>;
  table.by_pixels[1][0] = channels_by_pixels<T, 4, 1>;
  table.by_pixels[1][1] = channels_by_pixels<T, 4, 2>;
  table.grad_by_channels[0] = grad_by_channels<T, 1>;
  table.grad_by_channels[1] = grad_by_channels<T, 2>;
  table.grad_by_pixels = grad_by_pixels<T>;
  return table;
}

}  // namespace

template <class T>
template <Isa>
ConvLoops<T> ConvLoops<T>::compiled() {
  return loops_of<T>(std::make_integer_sequence<int, kMostPixels / 2>());
}
template ConvLoops<float> ConvLoops<float>::compiled<kIsa>();
template ConvLoops<double> ConvLoops<double>::compiled<kIsa>();

}  // namespace adjoint::cpu
