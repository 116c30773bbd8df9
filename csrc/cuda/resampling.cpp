#include "cuda/resampling.h"

#include <cmath>

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

bool run(const char* function, const ResampleShape& shape, const View& in, const View& out, const char* type) {
  const char* mode = mode_name(shape.mode);
  if (!mode) return false;
  ResampleArgs args{in.data, out.data, out.numel(), {}};
  for (int d = 0; d < 3; ++d) {
    const kernels::ResampleAxis& axis = shape.axes[d];
    args.axes[d] = {axis.in,     axis.out,   step_of(shape, axis, in.dtype == DType::Float64),
                    axis.before, axis.after, d < 3 - shape.dims};
  }
  const std::string call =
      std::string(function) + "<Resample::" + mode + (shape.align_corners ? ", true, " : ", false, ") + type + ">";
  launch(out.device, kernel_text("resampling.h", "ResampleArgs", call), args, blocks_for(args.numel));
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
FilterAxis filter_axis(const ResampleShape& shape, const kernels::ResampleAxis& axis, bool wide) {
  const double step = step_of(shape, axis, wide);
  const bool kept = axis.in == axis.out;
  const double reach = kernels::filter_radius<double>(shape.mode) * std::max(step, 1.0);
  return {axis.in, axis.out, step, kept ? 1 : static_cast<int64_t>(std::ceil(reach)) * 2 + 1, nullptr, nullptr, kept};
}

/// Of images: filters are for two axes alone.
void filter(const ResampleShape& shape, const View& in, const View& out, bool backward) {
  const std::string type = device_type(in.dtype), name = filter_name(shape.mode);
  FilterArgs args{in.data, out.data, 0, {}};
  int64_t places = 0, weights = 0;
  for (int d = 0; d < 2; ++d) {
    args.axes[d] = filter_axis(shape, shape.axes[d + 1], in.dtype == DType::Float64);
    places += args.axes[d].out;
    weights += args.axes[d].out * args.axes[d].taps;
  }
  Scratch memory(static_cast<size_t>(2 * places) * sizeof(int64_t) + static_cast<size_t>(weights) * itemsize(in.dtype),
                 out.device);
  auto* windows = reinterpret_cast<int64_t*>(memory.data());
  char* weight = memory.data() + static_cast<size_t>(2 * places) * sizeof(int64_t);
  for (FilterAxis& axis : args.axes) {
    axis.windows = windows;
    axis.weights = weight;
    windows += 2 * axis.out;
    weight += static_cast<size_t>(axis.out * axis.taps) * itemsize(in.dtype);
  }
  auto start = [&](const std::string& call, int64_t numel) {
    args.numel = numel;
    launch(out.device, kernel_text("filters.h", "FilterArgs", call), args, blocks_for(numel));
  };
  start("find_weights<" + name + ", " + type + ">", places);
  start(backward ? "filter_planes_backward<" + name + "<" + type + ">::kRadius, " + type + ">"
                 : "filter_planes<" + type + ">",
        out.numel());
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
