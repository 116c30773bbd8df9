#include "cuda/resampling.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "cuda/allocator.h"
#include "cuda/device/filters_args.h"
#include "cuda/device/resampling_args.h"
#include "cuda/launch.h"
#include "cuda/through_cpu.h"
#include "cuda/walk.h"

namespace adjoint::cuda {
namespace {

using kernels::ResampleMode;
using kernels::ResampleShape;

/// The mode in the words of device/resampling.h, or null where there is no kernel.
const char* mode_name(ResampleMode mode) {
  switch (mode) {
    case ResampleMode::Nearest: return "Nearest";
    case ResampleMode::NearestExact: return "NearestExact";
    case ResampleMode::Linear: return "Linear";
    case ResampleMode::Cubic: return "Cubic";
    case ResampleMode::Replicate: return "Replicate";
    case ResampleMode::Reflect: return "Reflect";
    case ResampleMode::Circular: return "Circular";
    default: return nullptr;
  }
}

/// As the CPU's tables have it: that of the nearest element is a float, others are in the type of positions.
double step_of(const ResampleShape& shape, const kernels::ResampleAxis& axis, bool wide) {
  if (shape.mode <= ResampleMode::NearestExact) return kernels::resample_step<float>(axis, false);
  return wide ? kernels::resample_step<double>(axis, shape.align_corners)
              : kernels::resample_step<float>(axis, shape.align_corners);
}

/// Numbers below fit 32 bits, also where a few of them are added.
constexpr int64_t kMostNarrow = int64_t{1} << 30;

/// Whether places fit 32 bits.
bool are_narrow(const ResampleShape& shape, const View& in, const View& out) {
  return in.numel() < kMostNarrow && out.numel() < kMostNarrow &&
         std::ranges::all_of(
             shape.axes,
             [](const kernels::ResampleAxis& axis) {
               return std::abs(axis.before) < kMostNarrow && std::abs(axis.after) < kMostNarrow;
             });
}

bool run(const char* function, const ResampleShape& shape, const View& in, const View& out, const char* type) {
  const char* mode = mode_name(shape.mode);
  if (!mode) return false;
  auto of_width = [&]<class W>(W, const char* args_type) {
    ResampleArgs<W> args{in.data, out.data, static_cast<W>(out.numel()), {}};
    for (int d = 0; d < 3; ++d) {
      const kernels::ResampleAxis& axis = shape.axes[d];
      args.axes[d] = {
          static_cast<W>(axis.in),     static_cast<W>(axis.out),   step_of(shape, axis, in.dtype == DType::Float64),
          static_cast<W>(axis.before), static_cast<W>(axis.after), d < 3 - shape.dims};
    }
    const std::string call =
        std::string(function) + "<Resample::" + mode + (shape.align_corners ? ", true, " : ", false, ") + type + ">";
    launch(out.device, kernel_text("resampling.h", args_type, call), args, blocks_for(args.numel));
  };
  are_narrow(shape, in, out) ? of_width(int32_t{}, "ResampleArgs<int32_t>")
                             : of_width(int64_t{}, "ResampleArgs<int64_t>");
  return true;
}

// ---- Filters against aliasing

const char* filter_name(ResampleMode mode) {
  switch (mode) {
    case ResampleMode::LinearAntialiased: return "LinearFilter";
    case ResampleMode::CubicAntialiased: return "CubicFilter";
    default: return "LanczosFilter";
  }
}

/// An axis that keeps its size is left alone, whatever the scale, as in torch.
FilterAxis<int64_t> filter_axis(const ResampleShape& shape, const kernels::ResampleAxis& axis, bool wide) {
  const double step = step_of(shape, axis, wide);
  const bool kept = axis.in == axis.out;
  const double reach = kernels::filter_radius<double>(shape.mode) * std::max(step, 1.0);
  return {axis.in, axis.out, step, kept ? 1 : static_cast<int64_t>(std::ceil(reach)) * 2 + 1, nullptr, nullptr, kept};
}

/// Of images: filters are for two axes alone.
void filter(const ResampleShape& shape, const View& in, const View& out, bool backward) {
  const std::string type = device_type(in.dtype), name = filter_name(shape.mode);
  const bool is_wide = in.dtype == DType::Float64;
  const FilterAxis<int64_t> axes[2] = {filter_axis(shape, shape.axes[1], is_wide),
                                       filter_axis(shape, shape.axes[2], is_wide)};
  const int64_t places = axes[0].out + axes[1].out, weights = axes[0].out * axes[0].taps + axes[1].out * axes[1].taps;
  const auto item = static_cast<size_t>(itemsize(in.dtype));
  Scratch windows(static_cast<size_t>(2 * places) * sizeof(int64_t), out.device);
  Scratch memory(static_cast<size_t>(weights) * item, out.device);
  auto of_width = [&]<class W>(W, const char* args_type) {
    FilterArgs<W> args{in.data, out.data, 0, {}};
    auto* window = reinterpret_cast<W*>(windows.data());
    char* weight = memory.data();
    for (int d = 0; d < 2; ++d) {
      const FilterAxis<int64_t>& axis = axes[d];
      args.axes[d] = {static_cast<W>(axis.in),
                      static_cast<W>(axis.out),
                      axis.step,
                      static_cast<W>(axis.taps),
                      window,
                      weight,
                      axis.kept};
      window += 2 * axis.out;
      weight += static_cast<size_t>(axis.out * axis.taps) * item;
    }
    auto start = [&](const std::string& call, int64_t numel) {
      args.numel = static_cast<W>(numel);
      launch(out.device, kernel_text("filters.h", args_type, call), args, blocks_for(numel));
    };
    start("find_weights<" + name + ", " + type + ">", places);
    start(backward ? "filter_planes_backward<" + name + "<" + type + ">::kRadius, " + type + ">"
                   : "filter_planes<" + type + ">",
          out.numel());
  };
  const bool narrow =
      are_narrow(shape, in, out) && weights < kMostNarrow && axes[0].taps < kMostNarrow && axes[1].taps < kMostNarrow;
  narrow ? of_width(int32_t{}, "FilterArgs<int32_t>") : of_width(int64_t{}, "FilterArgs<int64_t>");
}

bool has_filter(const ResampleShape& shape, const View& in) {
  return kernels::is_antialiased(shape.mode) && shape.dims == 2 && is_float(in.dtype);
}

}  // namespace

void resample_move(const ResampleShape& shape, const View& in, const View& out) {
  const bool moves = shape.mode <= ResampleMode::NearestExact || shape.mode >= ResampleMode::Replicate;
  if (!moves || !run("resample_move", shape, in, out, word_type(itemsize(in.dtype))))
    through_cpu.resampling.move(shape, in, out);
}

void resample_interpolate(const ResampleShape& shape, const View& in, const View& out) {
  if (has_filter(shape, in)) return filter(shape, in, out, false);
  if (in.dtype == DType::UInt8 || !run("resample_interpolate", shape, in, out, device_type(in.dtype)))
    through_cpu.resampling.interpolate(shape, in, out);
}

void resample_backward(const ResampleShape& shape, const View& in, const View& out) {
  if (has_filter(shape, in)) return filter(shape, in, out, true);
  if (!run("resample_backward", shape, in, out, device_type(in.dtype))) through_cpu.resampling.backward(shape, in, out);
}

}  // namespace adjoint::cuda
