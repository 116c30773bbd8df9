#include "ops/resampling.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/lock.h"
#include "core/memory_format.h"
#include "kernels/backend.h"
#include "ops/memory.h"

namespace adjoint::ops {
namespace {

using kernels::ResampleAxis;
using kernels::ResampleMode;
using kernels::ResampleShape;

ResampleMode mode_named(const std::string& name) {
  static constexpr std::pair<const char*, ResampleMode> names[] = {
      {"nearest", ResampleMode::Nearest},
      {"nearest-exact", ResampleMode::NearestExact},
      {"linear", ResampleMode::Linear},
      {"cubic", ResampleMode::Cubic},
      {"linear-aa", ResampleMode::LinearAntialiased},
      {"cubic-aa", ResampleMode::CubicAntialiased},
      {"lanczos-aa", ResampleMode::LanczosAntialiased},
      {"replicate", ResampleMode::Replicate},
      {"reflect", ResampleMode::Reflect},
      {"circular", ResampleMode::Circular},
  };
  for (const auto& [known, mode] : names)
    if (name == known) return mode;
  fail("resampling: unknown mode ", name);
}

// ---- Interpolation

std::string sizes_text(Sizes sizes) {
  static constexpr const char* names[] = {"D", "H", "W"};
  std::string text = "(";
  for (size_t d = 0; d < sizes.size(); ++d)
    text += (d ? ", " : "") + std::string(names[3 - sizes.size() + d]) + ": " + std::to_string(sizes[d]);
  return text + ")";
}

/// `scales` are those asked for, or 0, the last dimension's first.
ResampleShape upsample_shape(int64_t planes, Sizes in, Sizes out, const std::string& mode, bool align_corners,
                             const std::array<double, 3>& scales) {
  const size_t dims = in.size();
  if (std::any_of(in.begin(), in.end(), [](int64_t n) { return n < 1; }) ||
      std::any_of(out.begin(), out.end(), [](int64_t n) { return n < 1; }))
    fail("Input and output sizes should be greater than 0, but got input ", sizes_text(in),
         dims == 1 ? " and output " : " output ", sizes_text(out));
  ResampleShape shape{planes, static_cast<int>(dims), mode_named(mode), align_corners, {}};
  // Images that keep their size are copied whatever the scale, as in torch.
  const bool same =
      shape.mode == ResampleMode::Nearest && dims == 2 && std::equal(in.begin(), in.end(), out.begin(), out.end());
  for (size_t d = 0; d < dims; ++d)
    shape.axes[3 - dims + d] = {.in = in[d], .out = out[d], .scale = same ? 0 : scales[dims - 1 - d]};
  return shape;
}

/// Refuses a filter that would be larger than all memory.
template <class R>
void check_filters(const ResampleShape& shape) {
  if (!kernels::is_antialiased(shape.mode)) return;
  for (int d = 3 - shape.dims; d < 3; ++d) {
    const ResampleAxis& axis = shape.axes[d];
    const R step = kernels::resample_step<R>(axis, shape.align_corners), radius = kernels::filter_radius<R>(shape.mode);
    constexpr R most = R(1 << 23);
    if (axis.in != axis.out && !(std::max(step, R(1)) * radius <= most))
      fail("interpolate: expected a smaller filter; got a scale of ", step);
  }
}

void check_filters(const ResampleShape& shape, DType dtype) {
  const bool wide = dtype == DType::Float64 || dtype == DType::UInt8;
  wide ? check_filters<double>(shape) : check_filters<float>(shape);
}

// ---- Padding

ResampleShape pad_shape(Sizes sizes, const Ints& pad, const std::string& mode) {
  const size_t dims = pad.size() / 2;
  if (pad.size() % 2 || dims < 1 || dims > 3 || sizes.size() < dims)
    fail("pad: expected two numbers for each of one to three dimensions; got ", pad.size(), " for an input of size ",
         to_string(sizes));
  if (mode != "circular" && sizes.size() > dims && sizes[sizes.size() - dims - 1] == 0)
    fail("Expected ", dims + 1, "D or ", dims + 2,
         "D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: ",
         to_string(sizes));
  ResampleShape shape{1, static_cast<int>(dims), mode_named(mode), false, {}};
  for (size_t d = 0; d + dims < sizes.size(); ++d) shape.planes *= sizes[d];
  bool any_left = false;
  for (size_t d = 0; d < dims; ++d) {
    ResampleAxis& axis = shape.axes[2 - d];
    const size_t dimension = sizes.size() - 1 - d;
    const int64_t before = pad[2 * d], after = pad[2 * d + 1];
    axis.in = sizes[dimension];
    axis.before = before;
    axis.after = after;
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

// ---- Both

TensorPtr result_like(const Tensor* input, const ResampleShape& shape, bool forward, DType dtype) {
  const auto dims = static_cast<size_t>(shape.dims);
  int64_t sizes[kMaxDims];
  std::copy_n(input->sizes().begin(), input->ndim(), sizes);
  const size_t lead = static_cast<size_t>(input->ndim()) - dims;
  for (size_t d = 0; d < dims; ++d) {
    const ResampleAxis& axis = shape.axes[3 - dims + d];
    sizes[lead + d] = forward ? axis.out : axis.in;
  }
  return empty({sizes, static_cast<size_t>(input->ndim())}, dtype, input->device);
}

bool only_moves(const ResampleShape& shape) {
  if (!kernels::is_antialiased(shape.mode))
    return shape.mode != ResampleMode::Linear && shape.mode != ResampleMode::Cubic;
  return std::all_of(shape.axes, shape.axes + 3, [](const ResampleAxis& axis) { return axis.in == axis.out; });
}

/// The format of the input; results of fewer or more dimensions than a batch of images or volumes are contiguous.
MemoryFormat kept_format(const Tensor* input, size_t dims) {
  return input->ndim() == static_cast<int>(dims) + 2 ? suggested_format(input->shape) : MemoryFormat::Contiguous;
}

TensorPtr contiguous_forward(const ResampleShape& shape, Tensor* input) {
  const bool moves = only_moves(shape), as_it_is = moves || input->dtype == DType::UInt8;
  const DType compute = as_it_is || input->dtype == DType::Float64 ? input->dtype : DType::Float32;
  TensorPtr result = result_like(input, shape, true, compute);
  if (result->numel()) {
    check_filters(shape, compute);
    TensorPtr source = contiguous(input, compute);
    const kernels::Resampling& resampling = on(input->device).resampling;
    WithoutLock unlocked(result->numel());
    (moves ? resampling.move : resampling.interpolate)(shape, source->view(), result->view());
  }
  return cast(result.get(), input->dtype);
}

TensorPtr run_backward(const ResampleShape& shape, Tensor* grad, MemoryFormat format) {
  if (!is_differentiable(grad->dtype)) fail_not_implemented("upsample_backward", grad->dtype);
  for (int d = 0; d < shape.dims; ++d)
    if (shape.axes[3 - shape.dims + d].out != grad->size(grad->ndim() - (shape.dims - d)))
      fail("resampling: expected a gradient of the result's size; got ", to_string(grad->sizes()));
  const DType compute = itemsize(grad->dtype) == 2 ? DType::Float32 : grad->dtype;
  TensorPtr source = contiguous(grad, compute), result = result_like(grad, shape, false, compute);
  if (result->numel()) {
    check_filters(shape, compute);
    WithoutLock unlocked(result->numel());
    on(grad->device).resampling.backward(shape, source->view(), result->view());
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
  const std::array<double, 3> scales = {scale_x.value_or(0), scale_y.value_or(0), scale_z.value_or(0)};
  TensorPtr result = contiguous_forward(
      upsample_shape(planes, input->sizes().subspan(2), output_size, mode, align_corners, scales), input);
  return in_format(std::move(result), kept_format(input, dims));
}

TensorPtr upsample_backward(Tensor* grad, const Ints& size, const std::string& mode, bool align_corners,
                            std::optional<double> scale_x, std::optional<double> scale_y,
                            std::optional<double> scale_z) {
  const size_t dims = size.size();
  const int64_t planes = lead_of("upsample_backward", grad, dims);
  const std::array<double, 3> scales = {scale_x.value_or(0), scale_y.value_or(0), scale_z.value_or(0)};
  ResampleShape shape = upsample_shape(planes, size, grad->sizes().subspan(2), mode, align_corners, scales);
  // As in torch, whose other kernels give contiguous gradients.
  const bool keeps = mode.starts_with("linear") || (mode.starts_with("nearest") && dims == 2);
  return run_backward(shape, grad, keeps ? kept_format(grad, dims) : MemoryFormat::Contiguous);
}

TensorPtr pad_repeating(Tensor* input, const Ints& pad, const std::string& mode) {
  if (input->dtype == DType::Bool && mode != "circular") fail_not_implemented((mode + "_pad").c_str(), input->dtype);
  const size_t dims = pad.size() / 2;
  TensorPtr result = contiguous_forward(pad_shape(input->sizes(), pad, mode), input);
  return in_format(std::move(result), mode == "circular" ? MemoryFormat::Contiguous : kept_format(input, dims));
}

TensorPtr pad_repeating_backward(Tensor* grad, const Ints& size, const Ints& pad, const std::string& mode,
                                 bool channels_last) {
  ResampleShape shape = pad_shape(size, pad, mode);
  if (grad->ndim() != static_cast<int>(size.size())) fail("pad: expected a gradient of the result's size");
  return run_backward(shape, grad, channels_last_format(grad->ndim(), channels_last));
}

}  // namespace adjoint::ops
