#include "cuda/resampling.h"

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
  // Filters against aliasing leave an axis alone that keeps its size; others have many weights.
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

}  // namespace

void resample_move(const ResampleShape& shape, const View& in, const View& out) {
  const bool moves = shape.mode <= ResampleMode::NearestExact || shape.mode >= ResampleMode::Replicate;
  if (!moves || !run("resample_move", shape, in, out, word_type(itemsize(in.dtype))))
    through_cpu.resampling.move(shape, in, out);
}

void resample_interpolate(const ResampleShape& shape, const View& in, const View& out) {
  if (in.dtype == DType::UInt8 || !run("resample_interpolate", shape, in, out, device_type(in.dtype)))
    through_cpu.resampling.interpolate(shape, in, out);
}

void resample_backward(const ResampleShape& shape, const View& in, const View& out) {
  if (!run("resample_backward", shape, in, out, device_type(in.dtype))) through_cpu.resampling.backward(shape, in, out);
}

}  // namespace adjoint::cuda
