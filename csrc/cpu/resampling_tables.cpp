// Which elements of the input, and with which weights, make those of a resampled axis.
#include "cpu/resampling_tables.h"

#include <algorithm>
#include <cmath>

namespace adjoint::cpu {
namespace {

using kernels::ResampleMode;

// ---- Interpolation: source positions are computed in the type of the elements, as in torch; `step` is how many input
// elements there are per output element

void add_nearest(ResampleAxis& axis, bool exact, float step) {
  axis.reserve(1);
  for (int64_t i = 0; i < axis.out; ++i) {
    const float place = exact ? (static_cast<float>(i) + 0.5f) * step : static_cast<float>(i) * step;
    axis.index.push_back(static_cast<int64_t>(std::min(std::floor(place), static_cast<float>(axis.in - 1))));
  }
}

template <class R>
void add_linear(ResampleAxis& axis, bool align_corners, R step) {
  axis.reserve(2);
  for (int64_t i = 0; i < axis.out; ++i) {
    R place = align_corners ? step * static_cast<R>(i) : step * (static_cast<R>(i) + R(0.5)) - R(0.5);
    place = std::max(place, R(0));
    const int64_t first = std::min(static_cast<int64_t>(place), axis.in - 1);
    const R beyond = std::min(std::max(place - static_cast<R>(first), R(0)), R(1));
    axis.index.insert(axis.index.end(), {first, std::min(first + 1, axis.in - 1)});
    axis.weight.insert(axis.weight.end(), {static_cast<double>(R(1) - beyond), static_cast<double>(beyond)});
  }
}

/// Keys' cubic convolution at a distance.
template <class R>
R cubic(R x, R a) {
  x = std::fabs(x);
  if (x < R(1)) return ((a + R(2)) * x - (a + R(3))) * x * x + R(1);
  if (x < R(2)) return (((x - R(5)) * x + R(8)) * x - R(4)) * a;
  return R(0);
}

template <class R>
void add_cubic(ResampleAxis& axis, bool align_corners, R step) {
  axis.reserve(4);
  for (int64_t i = 0; i < axis.out; ++i) {
    const R place = align_corners ? step * static_cast<R>(i) : step * (static_cast<R>(i) + R(0.5)) - R(0.5);
    const R floor = std::floor(place), beyond = place - floor;
    for (int64_t t = 0; t < 4; ++t) {
      axis.index.push_back(std::clamp<int64_t>(static_cast<int64_t>(floor) - 1 + t, 0, axis.in - 1));
      axis.weight.push_back(static_cast<double>(cubic(beyond + R(1) - static_cast<R>(t), R(-0.75))));
    }
  }
}

template <class R>
R lanczos(R x) {
  constexpr R pi = R(3.14159265358979323846);
  if (x == R(0)) return R(1);
  return std::fabs(x) < R(3) ? R(3) * std::sin(pi * x) * std::sin(pi * x / R(3)) / (pi * pi * x * x) : R(0);
}

/// A filter that grows with the scale, so that every input element counts when there are fewer output elements.
template <class R, class Filter>
void add_antialiased(ResampleAxis& axis, R step, R radius, Filter filter) {
  const R support = step >= R(1) ? radius * step : radius, inverse = step >= R(1) ? R(1) / step : R(1);
  axis.reserve(static_cast<int64_t>(std::ceil(support)) * 2 + 1);
  for (int64_t i = 0; i < axis.out; ++i) {
    const R center = step * (static_cast<R>(i) + R(0.5));
    const int64_t from = std::clamp<int64_t>(static_cast<int64_t>(center - support + R(0.5)), 0, axis.in - 1);
    const int64_t to = std::clamp<int64_t>(static_cast<int64_t>(center + support + R(0.5)), from + 1, axis.in);
    R total = 0;
    std::vector<R> weights(static_cast<size_t>(axis.taps), R(0));
    axis.counts.push_back(std::min(to - from, axis.taps));
    for (int64_t t = 0; t < axis.counts.back(); ++t) {
      weights[static_cast<size_t>(t)] = filter((static_cast<R>(t + from) - center + R(0.5)) * inverse);
      total += weights[static_cast<size_t>(t)];
    }
    for (int64_t t = 0; t < axis.taps; ++t) {
      axis.index.push_back(std::min(from + t, axis.in - 1));
      axis.weight.push_back(static_cast<double>(total != R(0) ? weights[static_cast<size_t>(t)] / total : R(0)));
    }
  }
}

template <class R>
void add_interpolation(ResampleAxis& axis, ResampleMode mode, bool align_corners, const kernels::ResampleAxis& given) {
  const R step = kernels::resample_step<R>(given, align_corners), radius = kernels::filter_radius<R>(mode);
  switch (mode) {
    case ResampleMode::Linear: return add_linear(axis, align_corners, step);
    case ResampleMode::Cubic: return add_cubic(axis, align_corners, step);
    case ResampleMode::LinearAntialiased:
      return add_antialiased(axis, step, radius, [](R x) { return std::fabs(x) < R(1) ? R(1) - std::fabs(x) : R(0); });
    case ResampleMode::CubicAntialiased:
      return add_antialiased(axis, step, radius, [](R x) { return cubic(x, R(-0.5)); });
    default: return add_antialiased(axis, step, radius, lanczos<R>);
  }
}

// ---- Padding

/// The element that stands at place i, which may lie outside.
int64_t repeated(int64_t i, int64_t n, ResampleMode mode) {
  if (mode == ResampleMode::Replicate) return std::clamp<int64_t>(i, 0, n - 1);
  if (i < 0) i = -i;
  return i >= n ? 2 * (n - 1) - i : i;
}

/// What negative padding cuts off does not come back at the other end.
int64_t turned(int64_t i, int64_t n, int64_t before, int64_t after) {
  const int64_t cut = std::max<int64_t>(-before, 0), left = n - cut - std::max<int64_t>(-after, 0);
  return cut + ((i - cut) % left + left) % left;
}

void add_padding(ResampleAxis& axis, ResampleMode mode, int64_t before, int64_t after) {
  axis.reserve(1);
  for (int64_t i = 0; i < axis.out; ++i) {
    const int64_t place = i - before;
    axis.index.push_back(mode == ResampleMode::Circular ? turned(place, axis.in, before, after)
                                                        : repeated(place, axis.in, mode));
  }
}

// ---- Both

void keep(ResampleAxis& axis) {
  axis.reserve(1);
  for (int64_t i = 0; i < axis.out; ++i) axis.index.push_back(i);
}

void fill_axis(ResampleAxis& axis, const kernels::ResampleShape& shape, const kernels::ResampleAxis& given, bool wide) {
  const ResampleMode mode = shape.mode;
  if (mode == ResampleMode::Nearest || mode == ResampleMode::NearestExact)
    return add_nearest(axis, mode == ResampleMode::NearestExact, kernels::resample_step<float>(given, false));
  if (mode >= ResampleMode::Replicate) return add_padding(axis, mode, given.before, given.after);
  if (kernels::is_antialiased(mode) && axis.in == axis.out) return keep(axis);  // whatever the scale, as in torch
  wide ? add_interpolation<double>(axis, mode, shape.align_corners, given)
       : add_interpolation<float>(axis, mode, shape.align_corners, given);
}

}  // namespace

ResampleShape::ResampleShape(const kernels::ResampleShape& shape, DType dtype) : planes(shape.planes) {
  const bool wide = dtype == DType::Float64 || dtype == DType::UInt8;
  for (int d = 0; d < 3; ++d) {
    axes[d].in = shape.axes[d].in;
    axes[d].out = shape.axes[d].out;
    d < 3 - shape.dims ? keep(axes[d]) : fill_axis(axes[d], shape, shape.axes[d], wide);
  }
}

}  // namespace adjoint::cpu
