// Fourier transforms of many lines.
#pragma once

#include "core/view.h"

namespace adjoint::kernels {

enum class FftKind {
  Complex,     ///< n complex values to n
  RealToHalf,  ///< n real values to the n / 2 + 1 that tell the others
  RealToFull,  ///< n real values to n complex ones
  HalfToReal,  ///< back
};

/// Transforms along the middle dimension of contiguous arrays [outer, length, inner].
struct FftLines {
  FftKind kind;
  bool inverse;  ///< the sign of the exponent, for FftKind::Complex
  int64_t n;     ///< counted in values on the long side
  int64_t outer, inner;
  double scale;
};

struct Fft {
  /// `in` and `out` may be the same memory. Called with the interpreter lock held, which it lets go of while it works.
  void (*transform)(const View& in, const View& out, const FftLines& lines);
};

}  // namespace adjoint::kernels
