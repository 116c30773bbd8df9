// Fourier transforms: plans of cuFFT, kept for the next call, and lines that it cannot take turned first.
#include "cuda/fft.h"

#include <array>
#include <cstring>
#include <map>
#include <optional>

#include "core/error.h"
#include "core/warning.h"
#include "cuda/allocator.h"
#include "cuda/api/cufft.h"
#include "cuda/device/fft_args.h"
#include "cuda/elementwise.h"
#include "cuda/launch.h"
#include "cuda/memory.h"
#include "cuda/sessions.h"
#include "cuda/streams.h"
#include "cuda/through_cpu.h"

namespace adjoint::cuda {
namespace {

using kernels::FftKind;
using kernels::FftLines;

/// Null where it is not there, which a warning says once.
const cufft::Functions* library_functions() {
  static Library library(cufft::kFiles);
  static cufft::Functions functions;
  static const bool complete = [] {
    if (!library.open()) {
      warn_with_lock("cuFFT was not found (" + library.reason() +
                     "), and Fourier transforms are computed on the CPU without it; install it with: pip install " +
                     wheel_name("cufft"));
      return false;
    }
    return functions.find(library).empty();
  }();
  return complete ? &functions : nullptr;
}

void check_status(int status, const char* what) {
  if (status != cufft::kOk) fail("CUDA error: cuFFT failed with status ", status, " when ", what);
}

/// Lines of values: from value to value, and from line to line.
struct Lay {
  char* data;
  int64_t stride, distance;
};

struct Plan {
  cufft::Plan number = 0;
  size_t workspace = 0;

  Plan(int type, int64_t n, int64_t lines, const Lay& in, const Lay& out) {
    const RelaxedCapture relaxed;  // a plan takes memory for its tables
    check_status(library_functions()->create(&number), "making a plan");
    check_status(library_functions()->set_auto_allocation(number, 0), "making a plan");
    cufft::Size size = n, all = n;  // how lines lie is used where the sizes around them are given
    check_status(library_functions()->make_plan(number, 1, &size, &all, in.stride, in.distance, &all, out.stride,
                                                out.distance, type, lines, &workspace),
                 "making a plan");
  }
  Plan(Plan&&) = delete;
  ~Plan() { library_functions()->destroy(number); }
};

struct Session {
  std::map<std::array<int64_t, 7>, Plan> plans;
};

/// NVIDIA's numbers of the kinds, of float and double.
int type_of(FftKind kind, bool wide) {
  switch (kind) {
    case FftKind::RealToHalf: return wide ? cufft::kFromRealDouble : cufft::kFromRealFloat;
    case FftKind::HalfToReal: return wide ? cufft::kToRealDouble : cufft::kToRealFloat;
    default: return wide ? cufft::kComplexDouble : cufft::kComplexFloat;
  }
}

void run(FftKind kind, bool inverse, Device device, bool wide, int64_t n, int64_t lines, const Lay& in,
         const Lay& out) {
  auto& plans = thread_session<Session>(device).plans;
  const int type = type_of(kind, wide);
  const std::array<int64_t, 7> key = {type, n, lines, in.stride, in.distance, out.stride, out.distance};
  constexpr size_t kMostPlans = 256;
  if (plans.size() >= kMostPlans && !plans.contains(key)) {
    synchronize(device.index);  // plans may be at work
    plans.clear();
  }
  const Plan& plan = plans.try_emplace(key, type, n, lines, in, out).first->second;
  const cufft::Functions& api = *library_functions();
  Scratch work(plan.workspace, device);
  check_status(api.set_stream(plan.number, current_stream(device)), "choosing a stream");
  check_status(api.set_work_area(plan.number, work.data()), "giving it memory");
  int status;
  if (kind == FftKind::RealToHalf) {
    status = (wide ? api.from_real_double : api.from_real_float)(plan.number, in.data, out.data);
  } else if (kind == FftKind::HalfToReal) {
    status = (wide ? api.to_real_double : api.to_real_float)(plan.number, in.data, out.data);
  } else {
    status = (wide ? api.complex_double : api.complex_float)(plan.number, in.data, out.data,
                                                             inverse ? cufft::kInverse : cufft::kForward);
  }
  check_status(status, "transforming");
  finish_launch(device);
}

/// An array [outer, length, inner], and its lines as they lie, or turned to [outer, inner, length].
struct Lines {
  int64_t sizes[3], strides[3], turned_strides[3];
  bool turned;
  DType dtype;
  Device device;

  Lines(const FftLines& lines, int64_t length, const View& like)
      : sizes{lines.outer, length, lines.inner},
        strides{length * lines.inner, lines.inner, 1},
        turned_strides{length * lines.inner, 1, length},
        // cuFFT has one distance from line to line.
        turned(lines.outer > 1 && lines.inner > 1),
        dtype(like.dtype),
        device(like.device) {}
  View view(char* data) const { return {data, dtype, 3, sizes, strides, device}; }
  View staged(char* data) const { return {data, dtype, 3, sizes, turned ? turned_strides : strides, device}; }
  size_t bytes() const { return static_cast<size_t>(sizes[0] * sizes[1] * sizes[2] * itemsize(dtype)); }
  Lay lay(char* data) const {
    if (turned || sizes[2] == 1) return {data, 1, sizes[1]};
    return {data, sizes[2], 1};
  }
};

void make_ends_real(const Lay& lay, int64_t lines, int64_t n, bool wide, Device device) {
  HalfLinesArgs args{lay.data, lines, n, lay.stride, lay.distance};
  const std::string source = std::string("#include \"fft.h\"\nusing namespace adjoint;\nusing namespace ") +
                             "adjoint::cuda;\nADJOINT_KERNEL(HalfLinesArgs, 256) { make_ends_real<" +
                             (wide ? "double" : "float") + ">(args); }\n";
  launch(device, source, args, blocks_for(lines));
}

/// Multiplies all elements.
void multiply(const View& values, double factor) {
  static const Kernel* kernel = on(DeviceType::Cpu).elementwise.kernel("mul");
  static constexpr int64_t nothing[kMaxDims] = {};
  alignas(16) char number[16];
  dispatch(values.dtype, [&](auto tag) {
    const auto element = convert<decltype(tag)>(factor);
    std::memcpy(number, &element, sizeof(element));
  });
  const View inputs[] = {values, {number, values.dtype, values.ndim, values.sizes, nothing}};
  elementwise(*kernel, values.dtype, values, inputs, nullptr);
}

}  // namespace

void fft(const View& in, const View& out, const FftLines& lines) {
  if (!library_functions()) return through_cpu.fft.transform(in, out, lines);
  if (out.numel() == 0) return;
  if (lines.kind == FftKind::RealToFull) {
    copy(in, out);
    FftLines complex = lines;
    complex.kind = FftKind::Complex;
    complex.inverse = false;
    return fft(out, out, complex);
  }
  const int64_t half = lines.n / 2 + 1, count = lines.outer * lines.inner;
  const bool wide = out.dtype == DType::Float64 || out.dtype == DType::Complex128;
  const Lines from(lines, lines.kind == FftKind::HalfToReal ? half : lines.n, in);
  const Lines to(lines, lines.kind == FftKind::RealToHalf ? half : lines.n, out);
  std::optional<Scratch> taken, made;
  char *source = in.data, *target = out.data;
  // A transform to real values spoils what it reads; and real values, too, must begin where complex ones could.
  const bool aligned = reinterpret_cast<uintptr_t>(in.data) % (wide ? 16 : 8) == 0;
  if (from.turned || lines.kind == FftKind::HalfToReal || !aligned) {
    source = taken.emplace(from.bytes(), in.device).data();
    copy(from.view(in.data), from.staged(source));
  }
  if (to.turned) target = made.emplace(to.bytes(), out.device).data();
  if (lines.kind == FftKind::HalfToReal) make_ends_real(from.lay(source), count, lines.n, wide, in.device);
  run(lines.kind, lines.inverse, out.device, wide, lines.n, count, from.lay(source), to.lay(target));
  if (to.turned) copy(to.staged(target), to.view(out.data));
  if (lines.scale != 1) multiply(to.view(out.data), lines.scale);
}

}  // namespace adjoint::cuda
