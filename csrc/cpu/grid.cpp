#include "cpu/grid.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "cpu/grid_isa.h"
#include "cpu/parallel.h"

namespace adjoint::cpu {
namespace {

using kernels::GridMode;
using kernels::GridPadding;
using kernels::GridShape;

constexpr int64_t kBlock = kGridBlock;
constexpr int kMostTaps = 16;

/// std::floor where it is an instruction, else a call that takes longer than the rest.
template <class T>
inline T floor_of(T x) {
  if (std::fabs(x) >= T(1 << 30)) return std::floor(x);
  const T whole = static_cast<T>(static_cast<int32_t>(x));
  return whole > x ? whole - T(1) : whole;
}

/// Rounds to the nearest, and halves to even.
template <class T>
inline T nearest_to(T x) {
  if (std::fabs(x) >= T(1 << 30)) return std::nearbyint(x);
  const T low = floor_of(x), beyond = x - low;
  if (beyond != T(0.5)) return beyond < T(0.5) ? low : low + T(1);
  return static_cast<int32_t>(low) % 2 == 0 ? low : low + T(1);
}

/// A coordinate in elements, and its derivative with respect to the grid's.
template <class T>
struct Place {
  T at, slope;
};

template <class T>
Place<T> in_elements(T coordinate, int64_t size, bool align_corners) {
  if (align_corners) return {(coordinate + T(1)) / T(2) * static_cast<T>(size - 1), static_cast<T>(size - 1) / T(2)};
  return {((coordinate + T(1)) * static_cast<T>(size) - T(1)) / T(2), static_cast<T>(size) / T(2)};
}

template <class T>
Place<T> clipped(Place<T> place, int64_t size) {
  const T last = static_cast<T>(size - 1);
  if (place.at <= T(0)) return {T(0), T(0)};
  if (place.at >= last) return {last, T(0)};
  return place;
}

/// Thrown back at both ends: at the outer elements, or at their outer edges.
template <class T>
Place<T> reflected(Place<T> place, int64_t size, bool align_corners) {
  const T low = align_corners ? T(0) : T(-0.5);
  const T span = align_corners ? static_cast<T>(size - 1) : static_cast<T>(size);
  if (span == T(0)) return {T(0), T(0)};
  T distance = place.at - low;
  T sign = T(1);
  if (distance < T(0)) {
    distance = -distance;
    sign = T(-1);
  }
  const T extra = std::fmod(distance, span);
  const bool odd = std::fmod(std::floor(distance / span), T(2)) != T(0);
  return odd ? Place<T>{span - extra + low, -sign * place.slope} : Place<T>{extra + low, sign * place.slope};
}

template <class T>
Place<T> inside(Place<T> place, int64_t size, const GridShape& shape) {
  if (shape.padding == GridPadding::Zeros || !std::isfinite(place.at)) return place;
  if (shape.padding == GridPadding::Reflection) place = reflected(place, size, shape.align_corners);
  return clipped(place, size);
}

/// The elements of one axis that a point reads: their index (-1: none), weight, and its first and second derivative.
template <class T>
struct Taps {
  int count;
  int64_t index[4];
  T weight[4], first[4], second[4];

  void set(int t, int64_t i, T w, T d, T dd) {
    index[t] = i;
    weight[t] = w;
    first[t] = d;
    second[t] = dd;
  }
};

template <class T>
int64_t valid(T i, int64_t size) {
  return i >= T(0) && i < static_cast<T>(size) ? static_cast<int64_t>(i) : -1;
}

template <class T>
void cubic_taps(Taps<T>& taps, Place<T> place, int64_t size, const GridShape& shape) {
  constexpr T a = T(-0.75);
  const T floor = floor_of(place.at), beyond = place.at - floor, s = place.slope;
  taps.count = 4;
  for (int t = 0; t < 4; ++t) {
    // Keys' polynomial of the distance x, whose sign is that of its derivative.
    const T signed_distance = beyond + T(1) - static_cast<T>(t), x = std::fabs(signed_distance);
    const T sign = signed_distance < T(0) ? T(-1) : T(1);
    const bool near = t == 1 || t == 2;
    const T w =
        near ? ((a + T(2)) * x - (a + T(3))) * x * x + T(1) : ((a * x - T(5) * a) * x + T(8) * a) * x - T(4) * a;
    const T d = near ? (T(3) * (a + T(2)) * x - T(2) * (a + T(3))) * x : (T(3) * a * x - T(10) * a) * x + T(8) * a;
    const T dd = near ? T(6) * (a + T(2)) * x - T(2) * (a + T(3)) : T(6) * a * x - T(10) * a;
    const Place<T> element = inside(Place<T>{floor - T(1) + static_cast<T>(t), T(1)}, size, shape);
    taps.set(t, valid(nearest_to(element.at), size), w, d * sign * s, dd * s * s);
  }
}

template <class T>
Taps<T> taps_at(T coordinate, int64_t size, const GridShape& shape) {
  Taps<T> taps;
  Place<T> place = in_elements(coordinate, size, shape.align_corners);
  if (shape.mode != GridMode::Cubic) place = inside(place, size, shape);
  if (!std::isfinite(place.at)) {
    constexpr T nan = std::numeric_limits<T>::quiet_NaN();
    taps.count = 1;
    taps.set(0, shape.mode == GridMode::Nearest ? -1 : 0, nan, nan, nan);
  } else if (shape.mode == GridMode::Nearest) {
    taps.count = 1;
    taps.set(0, valid(nearest_to(place.at), size), T(1), T(0), T(0));
  } else if (shape.mode == GridMode::Linear) {
    const T floor = floor_of(place.at), beyond = place.at - floor;
    taps.count = 2;
    taps.set(0, valid(floor, size), T(1) - beyond, -place.slope, T(0));
    taps.set(1, valid(floor + T(1), size), beyond, place.slope, T(0));
  } else {
    cubic_taps(taps, place, size, shape);
  }
  return taps;
}

/// All elements that one point reads, with `Weights` weights for each.
template <class T, int Weights>
struct Samples {
  int count = 0;
  int64_t offset[kMostTaps];
  T weight[Weights][kMostTaps];
};

/// The product over the axes of weights, where axis `a` and axis `b` (if not negative) count with a derivative each.
template <class T>
T product(const Taps<T>* taps, const int* t, int dims, int a, int b) {
  T value = T(1);
  for (int d = 0; d < dims; ++d) {
    const int order = (d == a) + (d == b);
    value *= order == 0 ? taps[d].weight[t[d]] : order == 1 ? taps[d].first[t[d]] : taps[d].second[t[d]];
  }
  return value;
}

/// weigh(taps, t, weights) gives the weights of the element that is tap t[d] of each axis.
template <class T, int Weights, class Weigh>
Samples<T, Weights> samples_at(const GridShape& shape, const T* point, const Weigh& weigh) {
  Taps<T> taps[3];
  for (int d = 0; d < shape.dims; ++d) taps[d] = taps_at(point[d], shape.size[d], shape);
  for (int d = shape.dims; d < 3; ++d) {
    taps[d].count = 1;
    taps[d].set(0, 0, T(1), T(0), T(0));
  }
  Samples<T, Weights> samples;
  int t[3];
  for (t[2] = 0; t[2] < taps[2].count; ++t[2]) {
    for (t[1] = 0; t[1] < taps[1].count; ++t[1]) {
      for (t[0] = 0; t[0] < taps[0].count; ++t[0]) {
        const int64_t x = taps[0].index[t[0]], y = taps[1].index[t[1]], z = taps[2].index[t[2]];
        if (x < 0 || y < 0 || z < 0) continue;
        samples.offset[samples.count] = (z * (shape.dims > 1 ? shape.size[1] : 1) + y) * shape.size[0] + x;
        T weights[Weights];
        weigh(taps, t, weights);
        for (int w = 0; w < Weights; ++w) samples.weight[w][samples.count] = weights[w];
        ++samples.count;
      }
    }
  }
  return samples;
}

/// The weights of the samples themselves: products that grow from axis to axis.
template <class T>
Samples<T, 1> plain_samples(const GridShape& shape, const T* point) {
  Taps<T> taps[3];
  for (int d = 0; d < shape.dims; ++d) taps[d] = taps_at(point[d], shape.size[d], shape);
  const int depth = shape.dims == 3 ? taps[2].count : 1;
  Samples<T, 1> samples;
  for (int c = 0; c < depth; ++c) {
    const int64_t z = shape.dims == 3 ? taps[2].index[c] : 0;
    if (z < 0) continue;
    for (int b = 0; b < taps[1].count; ++b) {
      const int64_t y = taps[1].index[b];
      if (y < 0) continue;
      const T row = shape.dims == 3 ? taps[2].weight[c] * taps[1].weight[b] : taps[1].weight[b];
      for (int a = 0; a < taps[0].count; ++a) {
        const int64_t x = taps[0].index[a];
        if (x < 0) continue;
        samples.offset[samples.count] = (z * shape.size[1] + y) * shape.size[0] + x;
        samples.weight[0][samples.count] = row * taps[0].weight[a];
        ++samples.count;
      }
    }
  }
  return samples;
}

/// The same, or those of the derivative along the direction.
template <class T>
Samples<T, 1> values_at(const GridShape& shape, const T* grid, const T* direction, int64_t point) {
  if (!direction) return plain_samples(shape, grid + point * shape.dims);
  const T* along = direction + point * shape.dims;
  return samples_at<T, 1>(shape, grid + point * shape.dims, [&](const Taps<T>* taps, const int* t, T* weights) {
    weights[0] = T(0);
    for (int a = 0; a < shape.dims; ++a) weights[0] += along[a] * product(taps, t, shape.dims, a, -1);
  });
}

/// f(image, begin, end) for all images and blocks of their points, on several threads.
template <class F>
void each_block(const GridShape& shape, const F& f) {
  const int64_t blocks = (shape.points + kBlock - 1) / kBlock;
  const int64_t work = kBlock * (8 + shape.channels);
  parallel_for(shape.batch * blocks, std::max<int64_t>(1, 8192 / work), [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t first = unit % blocks * kBlock;
      f(unit / blocks, first, std::min(shape.points, first + kBlock));
    }
  });
}

/// The samples of a block of points, turned so that points lie side by side; `Taps` of them each.
template <class T, int Taps>
class BlockSampler {
 public:
  BlockSampler(const GridShape& shape, const T* grid, const T* direction, int64_t point, int64_t count)
      : count_(count) {
    if constexpr (Taps == 4) {
      if (!direction && surround(shape, grid + point * 2)) return;
    }
    for (int64_t p = 0; p < count; ++p) {
      const Samples<T, 1> sample = values_at(shape, grid, direction, point + p);
      for (int t = 0; t < Taps; ++t) {
        const bool there = t < sample.count;
        offset_[t][p] = there ? static_cast<int32_t>(sample.offset[t]) : 0;
        weight_[t][p] = there ? sample.weight[0][t] : T(0);
        mask_[t][p] = BitsOf<T>{0} - BitsOf<T>{there};
      }
    }
  }
  void sample(const T* plane, T* out) const {
    chosen<GridLoops<T>>.sample_points(plane, offset_[0], weight_[0], mask_[0], Taps, count_, out);
  }
  void give_back(const T* grad, T* plane) const {
    for (int64_t p = 0; p < count_; ++p) {
#pragma GCC unroll 16
      for (int t = 0; t < Taps; ++t) plane[offset_[t][p]] += kept(weight_[t][p] * grad[p], mask_[t][p]);
    }
  }

 private:
  /// The four elements around each point between them, without branches; false where a point is too far for that.
  bool surround(const GridShape& shape, const T* grid) {
    T at[2][kBlock];
    bool near = true;
    for (int d = 0; d < 2; ++d) {
      for (int64_t p = 0; p < count_; ++p) {
        at[d][p] = inside(in_elements(grid[2 * p + d], shape.size[d], shape.align_corners), shape.size[d], shape).at;
        near &= std::fabs(at[d][p]) < T(1 << 30);
      }
    }
    if (!near) return false;
    const auto width = static_cast<uint32_t>(shape.size[0]), height = static_cast<uint32_t>(shape.size[1]);
    for (int64_t p = 0; p < count_; ++p) {
      const T floor_x = floor_of(at[0][p]), floor_y = floor_of(at[1][p]);
      const T beyond_x = at[0][p] - floor_x, beyond_y = at[1][p] - floor_y;
#pragma GCC unroll 4
      for (int t = 0; t < 4; ++t) {
        const uint32_t x = static_cast<uint32_t>(static_cast<int32_t>(floor_x)) + t % 2;
        const uint32_t y = static_cast<uint32_t>(static_cast<int32_t>(floor_y)) + t / 2;
        const BitsOf<T> mask = BitsOf<T>{0} - BitsOf<T>{x < width && y < height};
        offset_[t][p] = static_cast<int32_t>((y * width + x) & static_cast<uint32_t>(mask));
        weight_[t][p] = (t / 2 ? beyond_y : T(1) - beyond_y) * (t % 2 ? beyond_x : T(1) - beyond_x);
        mask_[t][p] = mask;
      }
    }
    return true;
  }

  int64_t count_;
  int32_t offset_[Taps][kBlock];
  T weight_[Taps][kBlock];
  BitsOf<T> mask_[Taps][kBlock];
};

template <class T, int Taps>
void sample_in_blocks(const GridShape& shape, const T* image, const T* grid, const T* direction, T* out) {
  each_block(shape, [&](int64_t n, int64_t begin, int64_t end) {
    const BlockSampler<T, Taps> block(shape, grid, direction, n * shape.points + begin, end - begin);
    for (int64_t c = n * shape.channels; c < (n + 1) * shape.channels; ++c)
      block.sample(image + c * shape.plane(), out + c * shape.points + begin);
  });
}

/// Points of one image may share elements: a thread has whole images, or some channels of one.
template <class T, int Taps>
void image_gradient_in_blocks(const GridShape& shape, const T* grad, const T* grid, const T* direction, T* out) {
  const int64_t parts =
      std::clamp<int64_t>(num_threads() / std::max<int64_t>(1, shape.batch), 1, std::max<int64_t>(1, shape.channels));
  const int64_t work = shape.points * (8 + shape.channels) + shape.channels * shape.plane();
  parallel_for(shape.batch * parts, work < 8192 ? shape.batch * parts : 1, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t n = unit / parts, part = unit % parts;
      const int64_t first = n * shape.channels + shape.channels * part / parts;
      const int64_t last = n * shape.channels + shape.channels * (part + 1) / parts;
      std::fill_n(out + first * shape.plane(), (last - first) * shape.plane(), T(0));
      for (int64_t p = 0; p < shape.points; p += kBlock) {
        const BlockSampler<T, Taps> block(shape, grid, direction, n * shape.points + p,
                                          std::min(kBlock, shape.points - p));
        for (int64_t c = first; c < last; ++c) block.give_back(grad + c * shape.points + p, out + c * shape.plane());
      }
    }
  });
}

template <class T>
void sample(const GridShape& shape, const T* image, const T* grid, const T* direction, T* out) {
  if (shape.mode == GridMode::Nearest) return sample_in_blocks<T, 1>(shape, image, grid, direction, out);
  if (shape.mode == GridMode::Cubic) return sample_in_blocks<T, 16>(shape, image, grid, direction, out);
  if (shape.dims == 3) return sample_in_blocks<T, 8>(shape, image, grid, direction, out);
  sample_in_blocks<T, 4>(shape, image, grid, direction, out);
}

template <class T>
void image_gradient(const GridShape& shape, const T* grad, const T* grid, const T* direction, T* out) {
  if (shape.mode == GridMode::Nearest) return image_gradient_in_blocks<T, 1>(shape, grad, grid, direction, out);
  if (shape.mode == GridMode::Cubic) return image_gradient_in_blocks<T, 16>(shape, grad, grid, direction, out);
  if (shape.dims == 3) return image_gradient_in_blocks<T, 8>(shape, grad, grid, direction, out);
  image_gradient_in_blocks<T, 4>(shape, grad, grid, direction, out);
}

template <class T>
void grid_gradient(const GridShape& shape, const T* grad, const T* image, const T* grid, const T* direction, T* out) {
  // The nearest element stays the same for a while.
  if (shape.mode == GridMode::Nearest)
    return static_cast<void>(std::fill_n(out, shape.batch * shape.points * shape.dims, T(0)));
  const int64_t plane = shape.plane();
  each_block(shape, [&](int64_t n, int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      const int64_t point = n * shape.points + p;
      const T* along = direction ? direction + point * shape.dims : nullptr;
      const auto sample =
          samples_at<T, 3>(shape, grid + point * shape.dims, [&](const Taps<T>* taps, const int* t, T* weights) {
            for (int a = 0; a < 3; ++a) {
              weights[a] = T(0);
              if (a >= shape.dims) continue;
              if (!along) weights[a] = product(taps, t, shape.dims, a, -1);
              for (int b = 0; along && b < shape.dims; ++b) weights[a] += along[b] * product(taps, t, shape.dims, a, b);
            }
          });
      T totals[kMostTaps] = {};
      for (int64_t c = 0; c < shape.channels; ++c) {
        const T* from = image + (n * shape.channels + c) * plane;
        const T g = grad[(n * shape.channels + c) * shape.points + p];
        for (int i = 0; i < sample.count; ++i) totals[i] += from[sample.offset[i]] * g;
      }
      T sums[3] = {};
      for (int i = 0; i < sample.count; ++i) {
        for (int a = 0; a < 3; ++a) sums[a] += sample.weight[a][i] * totals[i];
      }
      std::copy_n(sums, shape.dims, out + point * shape.dims);
    }
  });
}

}  // namespace

void grid_sample(const GridShape& shape, const View& from, const View& grid, const View* direction, const View& out) {
  dispatch_real(out.dtype, [&](auto tag) {
    using T = decltype(tag);
    sample(shape, from.as<const T>(), grid.as<const T>(), data_of<const T>(direction), out.as<T>());
  });
}

void grid_sample_image(const GridShape& shape, const View& from, const View& grid, const View* direction,
                       const View& out) {
  dispatch_real(out.dtype, [&](auto tag) {
    using T = decltype(tag);
    image_gradient(shape, from.as<const T>(), grid.as<const T>(), data_of<const T>(direction), out.as<T>());
  });
}

void grid_sample_grid(const GridShape& shape, const View& grad, const View& image, const View& grid,
                      const View* direction, const View& out) {
  dispatch_real(out.dtype, [&](auto tag) {
    using T = decltype(tag);
    grid_gradient(shape, grad.as<const T>(), image.as<const T>(), grid.as<const T>(), data_of<const T>(direction),
                  out.as<T>());
  });
}

}  // namespace adjoint::cpu
