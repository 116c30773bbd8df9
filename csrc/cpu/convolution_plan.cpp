// What a convolution reads and writes: classes of output positions, taps, and the layout of packed images.
#include <algorithm>

#include "core/shape.h"
#include "cpu/convolution_plan.h"
#include "cpu/parallel.h"

namespace adjoint::cpu {
namespace {

int64_t floor_mod(int64_t a, int64_t b) { return (a % b + b) % b; }

}  // namespace

void Correlation::add_forward_axis(const ConvShape& shape, int d) {
  in[d] = shape.wide[d];
  out[d] = shape.narrow[d];
  step[d] = shape.stride[d];
  ConvAxis axis{out[d], 0, 1, {}, {}};
  for (int64_t k = 0; k < shape.kernel[d]; ++k) {
    axis.taps.push_back(k);
    axis.offsets.push_back(k * shape.dilation[d] - shape.padding[d]);
  }
  classes[d].push_back(std::move(axis));
}

/// out[x] takes in[y] times w[k] where y * stride + k * dilation - padding = x: for x = first + q * stride, these are
/// the taps k for which (first + padding - k * dilation) is a multiple of the stride.
void Correlation::add_transposed_axis(const ConvShape& shape, int d) {
  in[d] = shape.narrow[d];
  out[d] = shape.wide[d];
  step[d] = 1;
  const int64_t stride = shape.stride[d];
  for (int64_t first = 0; first < std::min(stride, out[d]); ++first) {
    ConvAxis axis{(out[d] - first + stride - 1) / stride, first, stride, {}, {}};
    for (int64_t k = 0; k < shape.kernel[d]; ++k) {
      const int64_t distance = first + shape.padding[d] - k * shape.dilation[d];
      if (floor_mod(distance, stride) != 0) continue;
      axis.taps.push_back(k);
      axis.offsets.push_back(distance / stride);
    }
    classes[d].push_back(std::move(axis));
  }
}

void Correlation::lay_out_image() {
  for (int d = 0; d < 3; ++d) {
    bool any = false;
    int64_t high = 0;
    low[d] = 0;
    for (const ConvAxis& axis : classes[d]) {
      for (int64_t offset : axis.offsets) {
        const int64_t last = (axis.count - 1) * step[d] + offset;
        low[d] = any ? std::min(low[d], offset) : offset;
        high = any ? std::max(high, last) : last;
        any = true;
      }
    }
    span[d] = any ? high - low[d] + 1 : 1;
  }
  columns = (span[2] + step[2] - 1) / step[2];
  row = columns * step[2];
  const int64_t sizes[] = {batch, groups * in_channels, span[0], span[1], row};
  checked_numel(sizes);  // fails where the product does not fit
  plane = span[0] * span[1] * row;
}

void Correlation::add_phases(const ConvShape& shape) {
  int64_t depth = 0;
  for (const ConvAxis& z : classes[0]) {
    for (const ConvAxis& y : classes[1]) {
      for (const ConvAxis& x : classes[2]) {
        if (z.taps.empty() || y.taps.empty() || x.taps.empty()) continue;
        ConvPhase phase{{&z, &y, &x}, {}, {}, depth};
        const size_t terms = z.taps.size() * y.taps.size() * x.taps.size() * static_cast<size_t>(in_channels);
        phase.offsets.reserve(terms);
        phase.sources.reserve(terms);
        for (size_t i = 0; i < z.taps.size(); ++i) {
          for (size_t j = 0; j < y.taps.size(); ++j) {
            const int64_t line = ((z.offsets[i] - low[0]) * span[1] + y.offsets[j] - low[1]) * row;
            const int64_t taps = (z.taps[i] * shape.kernel[1] + y.taps[j]) * shape.kernel[2];
            for (int64_t c = 0; c < in_channels; ++c) {
              for (size_t k = 0; k < x.taps.size(); ++k) {
                const int64_t column = x.offsets[k] - low[2];
                phase.offsets.push_back(c * plane + line + column % step[2] * columns + column / step[2]);
                phase.sources.push_back(c * weight_in + taps + x.taps[k]);
              }
            }
          }
        }
        depth += phase.depth();
        phases.push_back(std::move(phase));
      }
    }
  }
}

Correlation::Correlation(const ConvShape& shape, bool transposed) : batch(shape.batch), groups(shape.groups) {
  const int64_t taps = shape.kernel[0] * shape.kernel[1] * shape.kernel[2];
  in_channels = transposed ? shape.narrow_channels : shape.wide_channels;
  out_channels = transposed ? shape.wide_channels : shape.narrow_channels;
  weight_group = shape.narrow_channels * shape.wide_channels * taps;
  weight_out = transposed ? taps : shape.wide_channels * taps;
  weight_in = transposed ? shape.wide_channels * taps : taps;
  for (int d = 0; d < 3; ++d) transposed ? add_transposed_axis(shape, d) : add_forward_axis(shape, d);
  lay_out_image();
  add_phases(shape);
  // Little work is done on one thread.
  threads = work() < int64_t{1} << 18 ? 1 : num_threads();
}

int64_t Correlation::work() const {
  int64_t total = 0;
  for (const ConvPhase& phase : phases) total += phase.rows() * phase.axes[2]->count * phase.depth();
  return total * batch * groups * out_channels;
}

}  // namespace adjoint::cpu
