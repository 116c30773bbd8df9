// Resampling of planes along up to three axes at once: interpolation, and paddings that repeat elements of the input.
// All views are packed.
#pragma once

#include "core/view.h"

namespace adjoint::kernels {

enum class ResampleMode : uint8_t {
  Nearest,
  NearestExact,
  Linear,
  Cubic,
  LinearAntialiased,
  CubicAntialiased,
  LanczosAntialiased,
  Replicate,
  Reflect,
  Circular,
};

inline bool is_antialiased(ResampleMode mode) {
  return mode >= ResampleMode::LinearAntialiased && mode <= ResampleMode::LanczosAntialiased;
}

struct ResampleAxis {
  int64_t in = 1, out = 1;
  double scale = 0;    ///< of an interpolation: what was asked for; 0: what the sizes say
  int64_t before = 0;  ///< of a padding: the elements in front, or, negative, those cut off there
  int64_t after = 0;
};

struct ResampleShape {
  int64_t planes;
  int dims;  ///< the axes that are resampled, which are the last ones; the others have one element
  ResampleMode mode;
  bool align_corners;
  ResampleAxis axes[3];

  int64_t in() const { return axes[0].in * axes[1].in * axes[2].in; }
  int64_t out() const { return axes[0].out * axes[1].out * axes[2].out; }
};

/// Input elements per output element of an interpolation, in the type in which positions are computed.
template <class R>
R resample_step(const ResampleAxis& axis, bool align_corners) {
  if (align_corners) return axis.out > 1 ? static_cast<R>(axis.in - 1) / static_cast<R>(axis.out - 1) : R(0);
  return axis.scale > 0 ? static_cast<R>(1.0 / axis.scale) : static_cast<R>(axis.in) / static_cast<R>(axis.out);
}

/// How far a filter reaches from its center, in elements of the output.
template <class R>
R filter_radius(ResampleMode mode) {
  return mode == ResampleMode::LinearAntialiased ? R(1) : mode == ResampleMode::CubicAntialiased ? R(2) : R(3);
}

/// Positions are computed in the type of real elements, those of bytes in double.
struct Resampling {
  using Resample = void(const ResampleShape& shape, const View& in, const View& out);

  /// Resampling that only moves elements, of any type: to the nearest one, by a padding, or where sizes stay the same.
  Resample* move;
  /// Sums of elements with weights: Float32, Float64, or UInt8 as torch does it: axis by axis, the last one first, in
  /// whole numbers, each time rounded.
  Resample* interpolate;
  /// The transpose of either, for floating and complex elements: `out` has the size of the input.
  Resample* backward;
};

}  // namespace adjoint::kernels
