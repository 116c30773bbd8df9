// Convolutions that multiply each element of the image by what it meets, and by nothing else: no padding, and no hurry.
// For integers, and for kernels far larger than the image, which would meet padding almost everywhere.
#include <algorithm>
#include <numeric>
#include <vector>

#include "cpu/convolution_plan.h"
#include "cpu/parallel.h"

namespace adjoint::cpu {
namespace {

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }
int64_t ceil_div(int64_t a, int64_t b) { return -floor_div(-a, b); }

/// What one position of the image meets along an axis: positions of the factor, and those that their products go to.
struct Run {
  int64_t image, factor, result;
  int64_t count, factor_step, result_step;
};

/// The runs of an image that is narrow: position q meets tap k for wide position q * stride + k * dilation - padding.
std::vector<Run> runs_of_narrow(const ConvShape& shape, int d) {
  std::vector<Run> runs;
  const int64_t dilation = shape.dilation[d];
  for (int64_t q = 0; q < shape.narrow[d]; ++q) {
    const int64_t base = q * shape.stride[d] - shape.padding[d];
    const int64_t first = std::max<int64_t>(0, ceil_div(-base, dilation));
    const int64_t last = std::min(shape.kernel[d] - 1, floor_div(shape.wide[d] - 1 - base, dilation));
    if (first <= last) runs.push_back({q, first, base + first * dilation, last - first + 1, 1, dilation});
  }
  return runs;
}

/// The runs of an image that is wide: position y meets tap k for narrow position (y + padding - k * dilation) / stride,
/// where that is a whole number.
std::vector<Run> runs_of_wide(const ConvShape& shape, int d) {
  std::vector<Run> runs;
  const int64_t stride = shape.stride[d], dilation = shape.dilation[d], common = std::gcd(stride, dilation);
  for (int64_t y = 0; y < shape.wide[d]; ++y) {
    const int64_t base = y + shape.padding[d];
    int64_t first = std::max<int64_t>(0, ceil_div(base - (shape.narrow[d] - 1) * stride, dilation));
    const int64_t last = std::min(shape.kernel[d] - 1, base / dilation);
    while (first <= last && (base - first * dilation) % stride != 0) ++first;
    if (first > last) continue;
    const int64_t step = stride / common;
    runs.push_back({y, first, (base - first * dilation) / stride, (last - first) / step + 1, step, -dilation / common});
  }
  return runs;
}

/// Adds the products of one value and a run of factors.
template <class T>
void add_run(const Run& run, T value, const T* factor, T* result) {
  if (run.factor_step == 1 && run.result_step == 1) {
    for (int64_t i = 0; i < run.count; ++i) result[i] += value * factor[i];
  } else {
    for (int64_t i = 0; i < run.count; ++i) result[i * run.result_step] += value * factor[i * run.factor_step];
  }
}

/// The products of a plane of the image and one of the factor, and the plane that they are added to.
struct Spread {
  std::vector<Run> runs[3];
  const int64_t *image, *factor, *result;  ///< sizes of the planes

  /// For a convolution, or its transpose.
  Spread(const ConvShape& shape, bool transposed)
      : image(transposed ? shape.narrow : shape.wide),
        factor(shape.kernel),
        result(transposed ? shape.wide : shape.narrow) {
    for (int d = 0; d < 3; ++d) runs[d] = transposed ? runs_of_narrow(shape, d) : runs_of_wide(shape, d);
  }
  /// For the gradient of the weight, whose factor is the gradient of the result.
  explicit Spread(const ConvShape& shape) : Spread(shape, false) {
    std::swap(factor, result);
    for (auto& axis : runs) {
      for (Run& run : axis) {
        std::swap(run.factor, run.result);
        std::swap(run.factor_step, run.result_step);
      }
    }
  }

  static int64_t plane(const int64_t* sizes) { return sizes[0] * sizes[1] * sizes[2]; }

  template <class T>
  void add(const T* values, const T* factors, T* sums) const {
    for (const Run& z : runs[0]) {
      for (int64_t a = 0; a < z.count; ++a) {
        for (const Run& y : runs[1]) {
          for (int64_t b = 0; b < y.count; ++b) {
            auto line = [&](const int64_t* sizes, int64_t i, int64_t j) { return (i * sizes[1] + j) * sizes[2]; };
            const T* row = values + line(image, z.image, y.image);
            const T* by = factors + line(factor, z.factor + a * z.factor_step, y.factor + b * y.factor_step);
            T* to = sums + line(result, z.result + a * z.result_step, y.result + b * y.result_step);
            for (const Run& x : runs[2]) add_run(x, row[x.image], by + x.factor, to + x.result);
          }
        }
      }
    }
  }
};

}  // namespace

bool mostly_padding(const ConvShape& shape, bool transposed) {
  // A small kernel is quickly done, whatever it meets.
  if (Spread::plane(shape.kernel) < 1024) return false;
  double products = 1;  // that the other way makes for each that counts
  for (int d = 0; d < 3; ++d) {
    const auto wide = static_cast<double>(shape.wide[d]);
    const double narrow = static_cast<double>(shape.narrow[d]) * static_cast<double>(shape.stride[d]);
    products *= transposed ? wide / narrow : narrow / wide;
  }
  return products >= 64;
}

template <class T>
void spread(const ConvShape& shape, bool transposed, const T* image, const T* weight, const T* bias, T* out) {
  const int64_t in_channels = transposed ? shape.narrow_channels : shape.wide_channels;
  const int64_t out_channels = transposed ? shape.wide_channels : shape.narrow_channels;
  const Spread spread(shape, transposed);
  const int64_t in_plane = Spread::plane(spread.image), out_plane = Spread::plane(spread.result);
  parallel_for(shape.batch * shape.groups * out_channels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t o = unit % out_channels, n_group = unit / out_channels, group = n_group % shape.groups;
      T* target = out + unit * out_plane;
      std::fill_n(target, out_plane, bias ? bias[group * out_channels + o] : T(0));
      for (int64_t i = 0; i < in_channels; ++i) {
        const int64_t taps =
            transposed ? (group * in_channels + i) * out_channels + o : (group * out_channels + o) * in_channels + i;
        spread.add(image + (n_group * in_channels + i) * in_plane, weight + taps * Spread::plane(shape.kernel), target);
      }
    }
  });
}

template <class T>
void spread_weight(const ConvShape& shape, const T* grad, const T* image, T* weight) {
  const Spread spread(shape);
  const int64_t taps = Spread::plane(shape.kernel);
  parallel_for(shape.groups * shape.narrow_channels * shape.wide_channels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t i = unit % shape.wide_channels, group_o = unit / shape.wide_channels;
      const int64_t group = group_o / shape.narrow_channels;
      T* target = weight + unit * taps;
      std::fill_n(target, taps, T(0));
      for (int64_t n = 0; n < shape.batch; ++n) {
        spread.add(image + ((n * shape.groups + group) * shape.wide_channels + i) * Spread::plane(shape.wide),
                   grad + (n * shape.groups * shape.narrow_channels + group_o) * Spread::plane(shape.narrow), target);
      }
    }
  });
}

#define ADJOINT_INSTANCES(T) template void spread<T>(const ConvShape&, bool, const T*, const T*, const T*, T*);
ADJOINT_INSTANCES(float)
ADJOINT_INSTANCES(double)
ADJOINT_INSTANCES(uint64_t)
#undef ADJOINT_INSTANCES
template void spread_weight<float>(const ConvShape&, const float*, const float*, float*);
template void spread_weight<double>(const ConvShape&, const double*, const double*, double*);

}  // namespace adjoint::cpu
