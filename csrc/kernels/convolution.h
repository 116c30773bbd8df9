// Convolutions in one, two or three dimensions: forward, transposed, and gradient of the weight. All views are packed
// and of one type.
#pragma once

#include "core/view.h"

namespace adjoint::kernels {

/// A convolution takes a `wide` tensor [batch, groups * wide_channels, wide...] to a `narrow` one [batch, groups *
/// narrow_channels, narrow...] by a weight [groups * narrow_channels, wide_channels, kernel...]; its transpose goes the
/// other way. Fewer than three dimensions are padded with ones in front. The sizes are known to fit together.
struct ConvShape {
  int64_t batch, groups, wide_channels, narrow_channels;
  int64_t wide[3], narrow[3], kernel[3], stride[3], padding[3], dilation[3];
};

/// The interpreter lock is held when these are called; they give it up while they work.
struct Convolution {
  /// Whether the two below take a half type as it is, and sum in float32; if not, they are given float32.
  bool (*takes_halves)(const ConvShape& shape, DType dtype);
  /// out = the convolution, or its transpose, of `in`, plus bias (null: none). Float32, Float64, or Int64, which wraps.
  void (*forward)(const ConvShape& shape, bool transposed, const View& in, const View& weight, const View* bias,
                  const View& out);
  /// The gradient of the weight: sums of products of `grad`, which is narrow, and `in`, which is wide. No integers.
  void (*weight)(const ConvShape& shape, const View& grad, const View& in, const View& out);

  /// A complex weight [groups, first, second, taps] as real ones [groups, 2, first, 2, second, taps] between the real
  /// and the imaginary parts of channels. `first` are those of the result, or, `transposed`, of the input.
  void (*split_weight)(const View& complex, const View& real, bool transposed);
  /// The gradient of a complex weight from that of such real ones.
  void (*join_weight)(const View& real, const View& complex);
};

}  // namespace adjoint::kernels
