#include "cuda/ranges.h"

#include "cuda/device/ranges_args.h"
#include "cuda/launch.h"
#include "cuda/through_cpu.h"
#include "cuda/walk.h"

namespace adjoint::cuda {
namespace {

void run(const View& out, const std::string& name, const char* rest, const Scalar& start, const Scalar& end,
         double base) {
  RangeArgs args{out.data, out.numel(), start, end, base};
  launch(out.device, kernel_text("ranges.h", "RangeArgs", name + "<" + device_type(out.dtype) + rest + ">"), args,
         blocks_for(args.n));
}

}  // namespace

void arange(const View& out, const Scalar& start, const Scalar& step) {
  if (is_stored(out.dtype)) return through_cpu.ranges.arange(out, start, step);
  if (is_complex(out.dtype) || out.dtype == DType::Bool) return;
  run(out, "arange", "", start, step, 0);
}

void linspace(const View& out, const Scalar& start, const Scalar& end) {
  if (is_stored(out.dtype)) return through_cpu.ranges.linspace(out, start, end);
  if (out.dtype != DType::Bool) run(out, "linspace", ", false", start, end, 0);
}

void logspace(const View& out, const Scalar& start, const Scalar& end, double base) {
  if (is_stored(out.dtype)) return through_cpu.ranges.logspace(out, start, end, base);
  if (out.dtype != DType::Bool) run(out, "linspace", ", true", start, end, base);
}

}  // namespace adjoint::cuda
