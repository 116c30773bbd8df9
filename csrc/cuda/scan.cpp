#include "cuda/scan.h"

#include <algorithm>
#include <optional>
#include <string>

#include "cuda/allocator.h"
#include "cuda/launch.h"
#include "cuda/slices.h"
#include "cuda/through_cpu.h"

namespace adjoint::cuda {
namespace {

constexpr int kItems = 4;         ///< of a tile, for each thread
constexpr int64_t kShort = 32;    ///< elements of a slice that one thread takes
constexpr int64_t kByWarp = 512;  ///< elements of a slice that a warp takes
constexpr int64_t kMostParts = 256;
constexpr size_t kMostStateBytes = 32;

std::string text_of(const std::string& op, const std::string& call) {
  return "#include \"scan.h\"\nusing namespace adjoint;\nusing namespace adjoint::cuda;\nusing Op = " + op +
         ";\nADJOINT_KERNEL(SliceArgs, " + std::to_string(kThreads) + ") { " + call + "(args); }\n";
}

/// `in_order`: what is joined in another way than one after the other is not the same.
void run(const std::string& op, SliceArgs& args, Device device, bool in_order = false) {
  if (args.slices == 0 || args.n == 0) return;
  const bool by_columns = in_order || args.n <= kShort || lie_side_by_side(args);
  const bool by_warps = !by_columns && args.n <= kByWarp;
  const int64_t blocks = by_columns ? blocks_for(args.slices) : by_warps ? blocks_for(args.slices, 8) : args.slices;
  // Parts of long slices, where there are few of them.
  const int64_t tile = by_columns ? 64 : kThreads * kItems * 2, sms = use(device).multiprocessors;
  const int64_t wanted = std::min({(sms * 4 + blocks - 1) / blocks, args.n / tile, kMostParts});
  int64_t parts = 1;
  args.part = args.n;
  if (!in_order && !by_warps && wanted > 1) {
    args.part = ((args.n + wanted - 1) / wanted + tile - 1) / tile * tile;
    parts = (args.n + args.part - 1) / args.part;
  }
  const std::string call = by_columns
                               ? "scan_columns<Op, "
                               : "scan_rows<Op, " + std::to_string(kThreads) + ", " +
                                     std::to_string(by_warps ? 32 : kThreads) + ", " + std::to_string(kItems) + ", ";
  std::optional<Scratch> states;
  if (parts > 1) {
    states.emplace(static_cast<size_t>(parts * args.slices) * kMostStateBytes, device);
    args.states = states->data();
    launch(device, text_of(op, call + "true>"), args, blocks, kThreads, parts);
  }
  launch(device, text_of(op, call + "false>"), args, blocks, kThreads, parts);
}

std::string kind(const char* name, DType in, DType accumulate, DType out, const char* more = "") {
  return std::string(name) + "<" + device_type(in) + ", " + device_type(accumulate) + ", " + device_type(out) + more +
         ">";
}

void accumulate(const char* name, const View& in, const View& out, int dim, bool in_order = false) {
  const View* views[] = {&in, &out};
  SliceArgs args = slices_of(views, dim);
  const DType wide = is_complex(out.dtype) ? DType::Complex128 : is_float(out.dtype) ? DType::Float64 : DType::Int64;
  run(kind(name, in.dtype, wide, out.dtype), args, in.device, in_order);
}
bool can_scan(const View& in, const View& out) {
  const View* views[] = {&in, &out};
  return can_slice(views);
}

void cumsum(const View& in, const View& out, int dim) {
  if (!can_scan(in, out)) return through_cpu.scan.cumsum(in, out, dim);
  accumulate("RunningSum", in, out, dim);
}
void cumprod(const View& in, const View& out, int dim) {
  if (!can_scan(in, out)) return through_cpu.scan.cumprod(in, out, dim);
  accumulate("RunningProduct", in, out, dim);
}
void logcumsumexp(const View& in, const View& out, int dim) {
  if (!is_float(out.dtype) && !is_complex(out.dtype)) return on(DeviceType::Cpu).scan.logcumsumexp(in, out, dim);
  if (!can_scan(in, out)) return through_cpu.scan.logcumsumexp(in, out, dim);
  accumulate("RunningLogSumExp", in, out, dim, is_complex(out.dtype));
}

void extremes(const View& in, const View& values, const View& indices, int dim, bool most) {
  const View* views[] = {&in, &values, &indices};
  SliceArgs args = slices_of(views, dim);
  const DType compared = in.dtype == DType::Float64 ? in.dtype : is_float(in.dtype) ? DType::Float32 : DType::Int64;
  run(kind("RunningExtreme", in.dtype, compared, values.dtype, most ? ", true" : ", false"), args, in.device);
}
void cummax(const View& in, const View& values, const View& indices, int dim) {
  if (is_complex(in.dtype)) return on(DeviceType::Cpu).scan.cummax(in, values, indices, dim);
  if (!can_scan(in, values)) return through_cpu.scan.cummax(in, values, indices, dim);
  extremes(in, values, indices, dim, true);
}
void cummin(const View& in, const View& values, const View& indices, int dim) {
  if (is_complex(in.dtype)) return on(DeviceType::Cpu).scan.cummin(in, values, indices, dim);
  if (!can_scan(in, values)) return through_cpu.scan.cummin(in, values, indices, dim);
  extremes(in, values, indices, dim, false);
}

void recur(const View& in, const View& weight, const View& out, int dim, bool reverse) {
  const View* views[] = {&in, &weight, &out};
  if (!can_slice(views)) return through_cpu.scan.recur(in, weight, out, dim, reverse);
  SliceArgs args = slices_of(views, dim);
  if (reverse) {
    // From the end on; the weight between two neighbours stands at the later of them.
    for (int v = 0; v < 3; ++v) {
      args.data[v] += (args.n - 1 + (v == 1)) * args.step[v] * itemsize(in.dtype);
      args.step[v] = -args.step[v];
    }
  }
  const DType wide = in.dtype == DType::Float32 ? DType::Float64 : in.dtype;
  run(std::string("Recurrence<") + device_type(in.dtype) + ", " + device_type(wide) + ">", args, in.device);
}

}  // namespace

void set_scan(kernels::Scan& table) {
  table.cumsum = cumsum;
  table.cumprod = cumprod;
  table.logcumsumexp = logcumsumexp;
  table.cummax = cummax;
  table.cummin = cummin;
  table.recur = recur;
}

}  // namespace adjoint::cuda
