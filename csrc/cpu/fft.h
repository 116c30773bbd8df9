// Fourier transforms of many lines: Stockham's algorithm, vectorised along a line or across lines.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/fft.h"

namespace adjoint::cpu {

/// What depends on the length alone. Lengths with prime factors above 7 go by way of a convolution, in double
/// precision, of a length without (Bluestein's algorithm).
template <class T>
struct FftPlan {
  int64_t n;
  std::vector<int> factors;
  std::vector<T> twiddles;  ///< of each pass: [factor - 1][re, im][rest of the length]
  std::vector<T> turns;  ///< exp(-i pi k / n), [re, im][k < n]: makes a transform of 2n real values of n complex ones
  std::unique_ptr<const FftPlan<double>> convolution;
  std::vector<double> chirp;   ///< exp(-i pi k^2 / n), [re, im][n]
  std::vector<double> filter;  ///< the transform of the chirp's conjugate, scaled, [re, im][convolution->n]
};

using kernels::FftKind;

/// Transforms along the middle dimension of contiguous arrays [outer, length, inner]; in and out may be the same.
template <class T>
struct Fft {
  FftKind kind;
  bool inverse;  ///< the sign of the exponent, for FftKind::Complex
  int64_t n;     ///< counted in values on the long side
  int64_t outer, inner;
  T scale;
  const T* in;
  T* out;
  int64_t lanes;   ///< lines that are transformed at a time
  int64_t pieces;  ///< of the work, for the threads
  std::shared_ptr<const FftPlan<T>> plan;

  Fft(FftKind kind, bool inverse, int64_t n, int64_t outer, int64_t inner, double scale, const T* in, T* out);
  int64_t lines() const { return outer * inner; }
  bool halved() const { return kind != FftKind::Complex && n % 2 == 0; }
  /// Scalars of scratch memory that run() wants.
  int64_t scratch() const { return pieces * piece_scratch(); }
  void run(T* scratch) const;

 private:
  int64_t piece_scratch() const;
};

/// See kernels/fft.h.
void fft(const View& in, const View& out, const kernels::FftLines& lines);

}  // namespace adjoint::cpu
