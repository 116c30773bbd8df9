#include "ops/resampling.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/lock.h"
#include "core/memory_format.h"
#include "cpu/copy.h"
#include "cpu/resample.h"
#include "ops/memory.h"

namespace adjoint::ops {
namespace {

using cpu::ResampleAxis;
using cpu::ResampleShape;

// ---- Interpolation: source positions are computed in the type of the elements, as in torch

/// Input elements per output element. `scale` is what was asked for, or 0.
template <class R>
R scale_of(int64_t in, int64_t out, bool align_corners, double scale) {
  if (align_corners) return out > 1 ? static_cast<R>(in - 1) / static_cast<R>(out - 1) : R(0);
  return scale > 0 ? static_cast<R>(1.0 / scale) : static_cast<R>(in) / static_cast<R>(out);
}

void add_nearest(ResampleAxis& axis, bool exact, double scale) {
  const float step = scale_of<float>(axis.in, axis.out, false, scale);
  axis.reserve(1);
  for (int64_t i = 0; i < axis.out; ++i) {
    const float place = exact ? (static_cast<float>(i) + 0.5f) * step : static_cast<float>(i) * step;
    axis.index.push_back(static_cast<int64_t>(std::min(std::floor(place), static_cast<float>(axis.in - 1))));
  }
}

template <class R>
void add_linear(ResampleAxis& axis, bool align_corners, double scale) {
  axis.reserve(2);
  const R step = scale_of<R>(axis.in, axis.out, align_corners, scale);
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
void add_cubic(ResampleAxis& axis, bool align_corners, double scale) {
  axis.reserve(4);
  const R step = scale_of<R>(axis.in, axis.out, align_corners, scale);
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
void add_antialiased(ResampleAxis& axis, bool align_corners, double scale, R radius, Filter filter) {
  const R step = scale_of<R>(axis.in, axis.out, align_corners, scale);
  const R support = step >= R(1) ? radius * step : radius, inverse = step >= R(1) ? R(1) / step : R(1);
  constexpr R most = R(1 << 23);
  if (!(support <= most)) fail("interpolate: expected a smaller filter; got a scale of ", step);
  axis.reserve(static_cast<int64_t>(std::ceil(support)) * 2 + 1);
  for (int64_t i = 0; i < axis.out; ++i) {
    const R center = step * (static_cast<R>(i) + R(0.5));
    const int64_t from = std::clamp<int64_t>(static_cast<int64_t>(center - support + R(0.5)), 0, axis.in - 1);
    const int64_t to = std::clamp<int64_t>(static_cast<int64_t>(center + support + R(0.5)), from + 1, axis.in);
    R total = 0;
    std::vector<R> weights(static_cast<size_t>(axis.taps), R(0));
    for (int64_t t = 0; t < std::min(to - from, axis.taps); ++t) {
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
void fill_axis(ResampleAxis& axis, const std::string& mode, bool align_corners, double scale) {
  if (mode == "nearest" || mode == "nearest-exact") return add_nearest(axis, mode != "nearest", scale);
  if (mode == "linear") return add_linear<R>(axis, align_corners, scale);
  if (mode == "cubic") return add_cubic<R>(axis, align_corners, scale);
  if (axis.in == axis.out) {  // whatever the scale, as in torch
    for (int64_t i = 0; i < axis.out; ++i) axis.index.push_back(i);
    return;
  }
  if (mode == "linear-aa")
    return add_antialiased<R>(axis, align_corners, scale, R(1),
                              [](R x) { return std::fabs(x) < R(1) ? R(1) - std::fabs(x) : R(0); });
  if (mode == "cubic-aa")
    return add_antialiased<R>(axis, align_corners, scale, R(2), [](R x) { return cubic(x, R(-0.5)); });
  if (mode == "lanczos-aa") return add_antialiased<R>(axis, align_corners, scale, R(3), lanczos<R>);
  fail("upsample: unknown mode ", mode);
}

void keep_axis(ResampleAxis& axis) { axis.index.push_back(0); }

std::string sizes_text(Sizes sizes) {
  static constexpr const char* names[] = {"D", "H", "W"};
  std::string text = "(";
  for (size_t d = 0; d < sizes.size(); ++d)
    text += (d ? ", " : "") + std::string(names[3 - sizes.size() + d]) + ": " + std::to_string(sizes[d]);
  return text + ")";
}

/// The sizes of an interpolation, without its tables.
ResampleShape upsample_shape(int64_t planes, Sizes in, Sizes out) {
  const size_t dims = in.size();
  if (std::any_of(in.begin(), in.end(), [](int64_t n) { return n < 1; }) ||
      std::any_of(out.begin(), out.end(), [](int64_t n) { return n < 1; }))
    fail("Input and output sizes should be greater than 0, but got input ", sizes_text(in),
         dims == 1 ? " and output " : " output ", sizes_text(out));
  ResampleShape shape{planes, {}};
  for (size_t d = 0; d < 3; ++d) {
    ResampleAxis& axis = shape.axes[d];
    if (d < 3 - dims) {
      keep_axis(axis);
      continue;
    }
    axis.in = in[d - (3 - dims)];
    axis.out = out[d - (3 - dims)];
  }
  return shape;
}

/// The tables of an interpolation; `scales` are those asked for, the last dimension's first.
void fill_upsample(ResampleShape& shape, size_t dims, const std::string& mode, bool align_corners,
                   const std::array<double, 3>& scales, bool wide) {
  // Images that keep their size are copied whatever the scale, as in torch.
  const bool same =
      mode == "nearest" && dims == 2 && shape.in() == shape.out() && shape.axes[2].in == shape.axes[2].out;
  for (size_t d = 3 - dims; d < 3; ++d) {
    const double scale = same ? 0 : scales[2 - d];
    wide ? fill_axis<double>(shape.axes[d], mode, align_corners, scale)
         : fill_axis<float>(shape.axes[d], mode, align_corners, scale);
  }
}

// ---- Padding

/// The element that stands at place i, which may lie outside.
int64_t repeated(int64_t i, int64_t n, const std::string& mode) {
  if (mode == "replicate") return std::clamp<int64_t>(i, 0, n - 1);
  if (i < 0) i = -i;
  return i >= n ? 2 * (n - 1) - i : i;
}

/// What negative padding cuts off does not come back at the other end.
int64_t turned(int64_t i, int64_t n, int64_t before, int64_t after) {
  const int64_t cut = std::max<int64_t>(-before, 0), left = n - cut - std::max<int64_t>(-after, 0);
  return cut + ((i - cut) % left + left) % left;
}

ResampleShape pad_shape(Sizes sizes, const Ints& pad, const std::string& mode) {
  const size_t dims = pad.size() / 2;
  if (pad.size() % 2 || dims < 1 || dims > 3 || sizes.size() < dims)
    fail("pad: expected two numbers for each of one to three dimensions; got ", pad.size(), " for an input of size ",
         to_string(sizes));
  if (mode != "circular" && sizes.size() > dims && sizes[sizes.size() - dims - 1] == 0)
    fail("Expected ", dims + 1, "D or ", dims + 2,
         "D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: ",
         to_string(sizes));
  ResampleShape shape{1, {}};
  for (size_t d = 0; d + dims < sizes.size(); ++d) shape.planes *= sizes[d];
  for (size_t d = 0; d < 3 - dims; ++d) keep_axis(shape.axes[d]);
  bool any_left = false;
  for (size_t d = 0; d < dims; ++d) {
    ResampleAxis& axis = shape.axes[2 - d];
    const size_t dimension = sizes.size() - 1 - d;
    const int64_t before = pad[2 * d], after = pad[2 * d + 1];
    axis.in = sizes[dimension];
    if (axis.in < 1 && (mode != "circular" || before > 0 || after > 0))
      fail("Expected a non-empty tensor for padding by ", mode, "; got size ", to_string(sizes));
    if (mode == "reflect" && std::max(before, after) >= axis.in)
      fail("Argument #", 2 * d + 4,
           ": Padding size should be less than the corresponding input dimension, but got: padding (", before, ", ",
           after, ") at dimension ", dimension, " of input ", to_string(sizes));
    if (mode == "circular" && std::max(before, after) > axis.in)
      fail("Padding value causes wrapping around more than once.");
    const __int128 exact = static_cast<__int128>(axis.in) + before + after;
    axis.out = static_cast<int64_t>(std::clamp<__int128>(exact, INT64_MIN, INT64_MAX));
    const __int128 kept = static_cast<__int128>(axis.in) + std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0);
    if (axis.out < 0 || (mode == "circular" && kept < 1 && axis.out > 0))
      fail("pad: input size ", axis.in, " at dimension ", dimension,
           " is too small. Calculated output size: ", axis.out);
    any_left |= axis.out > 0;
  }
  if (!any_left && mode != "circular")
    fail("pad: input ", to_string(sizes), " is too small. Calculated output has no elements");
  return shape;
}

/// The tables of a padding that pad_shape() found right.
void fill_pad(ResampleShape& shape, const Ints& pad, const std::string& mode) {
  for (size_t d = 0; d < pad.size() / 2; ++d) {
    ResampleAxis& axis = shape.axes[2 - d];
    const int64_t before = pad[2 * d], after = pad[2 * d + 1];
    axis.reserve(1);
    for (int64_t i = 0; i < axis.out; ++i) {
      const int64_t place = i - before;
      axis.index.push_back(mode == "circular" ? turned(place, axis.in, before, after) : repeated(place, axis.in, mode));
    }
  }
}

// ---- Both

TensorPtr result_like(const Tensor* input, const ResampleShape& shape, size_t dims, bool forward, DType dtype) {
  int64_t sizes[kMaxDims];
  std::copy_n(input->sizes().begin(), input->ndim(), sizes);
  const size_t lead = static_cast<size_t>(input->ndim()) - dims;
  for (size_t d = 0; d < dims; ++d) {
    const ResampleAxis& axis = shape.axes[3 - dims + d];
    sizes[lead + d] = forward ? axis.out : axis.in;
  }
  return empty({sizes, static_cast<size_t>(input->ndim())}, dtype);
}

bool only_moves(const ResampleShape& shape) {
  return std::all_of(shape.axes, shape.axes + 3, [](const ResampleAxis& axis) { return axis.weight.empty(); });
}

/// The format of the input; results of fewer or more dimensions than a batch of images or volumes are contiguous.
MemoryFormat kept_format(const Tensor* input, size_t dims) {
  return input->ndim() == static_cast<int>(dims) + 2 ? suggested_format(input->shape) : MemoryFormat::Contiguous;
}

/// `fill` makes the tables, once it is known that there is room for the result.
template <class Fill>
TensorPtr contiguous_forward(ResampleShape shape, Tensor* input, size_t dims, Fill fill) {
  TensorPtr room = result_like(input, shape, dims, true, input->dtype);
  if (room->numel() == 0) return room;
  room = TensorPtr();
  fill(shape);
  if (only_moves(shape)) {
    TensorPtr source = contiguous(input), result = result_like(input, shape, dims, true, input->dtype);
    WithoutLock unlocked(result->numel());
    if (result->numel()) cpu::rearrange(shape, itemsize(input->dtype), source->data, result->data);
    return result;
  }
  if (input->dtype == DType::UInt8) {
    TensorPtr source = contiguous(input), result = result_like(input, shape, dims, true, DType::UInt8);
    if (result->numel()) cpu::resample_bytes(shape, source->as<uint8_t>(), result->as<uint8_t>());
    return result;
  }
  const DType compute = input->dtype == DType::Float64 ? DType::Float64 : DType::Float32;
  TensorPtr source = contiguous(cast(input, compute).get()), result = result_like(input, shape, dims, true, compute);
  if (result->numel()) {
    WithoutLock unlocked(result->numel());
    compute == DType::Float64 ? cpu::resample(shape, source->as<double>(), result->as<double>())
                              : cpu::resample(shape, source->as<float>(), result->as<float>());
  }
  return cast(result.get(), input->dtype);
}

TensorPtr run_backward(const ResampleShape& shape, Tensor* grad, size_t dims, MemoryFormat format) {
  if (!is_differentiable(grad->dtype)) fail_not_implemented("upsample_backward", grad->dtype);
  for (size_t d = 0; d < dims; ++d)
    if (shape.axes[3 - dims + d].out != grad->size(grad->ndim() - static_cast<int>(dims - d)))
      fail("resampling: expected a gradient of the result's size; got ", to_string(grad->sizes()));
  const DType compute = itemsize(grad->dtype) == 2 ? DType::Float32 : grad->dtype;
  TensorPtr source = contiguous(cast(grad, compute).get()), result = result_like(grad, shape, dims, false, compute);
  if (result->numel()) {
    WithoutLock unlocked(result->numel());
    dispatch(compute, [&](auto tag) {
      using T = decltype(tag);
      if constexpr (std::is_floating_point_v<T> || is_complex_v<T>)
        cpu::resample_backward(shape, source->as<T>(), result->as<T>());
    });
  }
  return in_format(cast(result.get(), grad->dtype), format);
}

int64_t lead_of(const char* op, const Tensor* tensor, size_t dims) {
  if (dims < 1 || dims > 3 || tensor->ndim() != static_cast<int>(dims) + 2)
    fail(op, ": expected ", dims + 2, " dimensions; got size ", to_string(tensor->sizes()));
  return tensor->size(0) * tensor->size(1);
}

}  // namespace

TensorPtr upsample(Tensor* input, const Ints& output_size, const std::string& mode, bool align_corners,
                   std::optional<double> scale_x, std::optional<double> scale_y, std::optional<double> scale_z) {
  if (!is_float(input->dtype) && input->dtype != DType::UInt8) fail_not_implemented("upsample", input->dtype);
  const size_t dims = output_size.size();
  const int64_t planes = lead_of("upsample", input, dims);
  const bool wide = input->dtype == DType::Float64 || input->dtype == DType::UInt8;
  TensorPtr result = contiguous_forward(
      upsample_shape(planes, input->sizes().subspan(2), output_size), input, dims, [&](ResampleShape& shape) {
        fill_upsample(shape, dims, mode, align_corners, {scale_x.value_or(0), scale_y.value_or(0), scale_z.value_or(0)},
                      wide);
      });
  return in_format(std::move(result), kept_format(input, dims));
}

TensorPtr upsample_backward(Tensor* grad, const Ints& size, const std::string& mode, bool align_corners,
                            std::optional<double> scale_x, std::optional<double> scale_y,
                            std::optional<double> scale_z) {
  const size_t dims = size.size();
  const int64_t planes = lead_of("upsample_backward", grad, dims);
  ResampleShape shape = upsample_shape(planes, size, grad->sizes().subspan(2));
  if (grad->numel())
    fill_upsample(shape, dims, mode, align_corners, {scale_x.value_or(0), scale_y.value_or(0), scale_z.value_or(0)},
                  grad->dtype == DType::Float64);
  // As in torch, whose other kernels give contiguous gradients.
  const bool keeps = mode.starts_with("linear") || (mode.starts_with("nearest") && dims == 2);
  return run_backward(shape, grad, dims, keeps ? kept_format(grad, dims) : MemoryFormat::Contiguous);
}

TensorPtr pad_repeating(Tensor* input, const Ints& pad, const std::string& mode) {
  if (input->dtype == DType::Bool && mode != "circular") fail_not_implemented((mode + "_pad").c_str(), input->dtype);
  const size_t dims = pad.size() / 2;
  TensorPtr result = contiguous_forward(pad_shape(input->sizes(), pad, mode), input, dims,
                                        [&](ResampleShape& shape) { fill_pad(shape, pad, mode); });
  return in_format(std::move(result), mode == "circular" ? MemoryFormat::Contiguous : kept_format(input, dims));
}

TensorPtr pad_repeating_backward(Tensor* grad, const Ints& size, const Ints& pad, const std::string& mode,
                                 bool channels_last) {
  ResampleShape shape = pad_shape(size, pad, mode);
  if (grad->ndim() != static_cast<int>(size.size())) fail("pad: expected a gradient of the result's size");
  fill_pad(shape, pad, mode);
  return run_backward(shape, grad, pad.size() / 2, channels_last_format(grad->ndim(), channels_last));
}

}  // namespace adjoint::ops
