#include "cuda/reduce_plan.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "cuda/allocator.h"
#include "cuda/geometry.h"
#include "cuda/launch.h"

namespace adjoint::cuda {
namespace {

constexpr size_t kMostStateBytes = 32;
constexpr int64_t kNarrow = int64_t{1} << 31;
constexpr int64_t kShortColumn = 4096;

/// Some dimensions of a view.
struct Chosen {
  int64_t sizes[kMaxDims], strides[kMaxDims];
  View view;

  template <class Keep>
  Chosen(const View& of, int ndim, const int64_t* all_sizes, Keep keep) : view(of) {
    view.ndim = 0;
    for (int d = 0; d < ndim; ++d) {
      if (!keep(d)) continue;
      sizes[view.ndim] = all_sizes[d];
      strides[view.ndim++] = of.strides[d];
    }
    view.sizes = sizes;
    view.strides = strides;
  }
};

struct Shares {
  Geometry kept, reduced;

  explicit Shares(const Reduction& reduction) {
    const View& in = *reduction.in;
    const View& out = reduction.outs[0] ? *reduction.outs[0] : *reduction.outs[1];
    const View& second = reduction.outs[1] ? *reduction.outs[1] : out;
    auto is_kept = [&](int d) { return out.sizes[d] == in.sizes[d]; };
    auto is_reduced = [&](int d) { return !is_kept(d); };
    const Chosen a(in, in.ndim, in.sizes, is_kept), b(out, in.ndim, in.sizes, is_kept),
        c(second, in.ndim, in.sizes, is_kept), r(in, in.ndim, in.sizes, is_reduced);
    const View* views[] = {&a.view, &b.view, &c.view};
    kept = joint_geometry(views);
    const View* inner[] = {&r.view};
    reduced = joint_geometry(inner);
  }
};

/// The threads of a launch, and what each of them does.
struct Shape {
  bool by_rows, flat, aligned = false, wide;
  int width = 1, unroll = 4, group = 1;
  int64_t parts = 1, part;
  int packets = 0;  ///< threads of a block that have its outputs, several each; 0: one at a time
  int threads = kThreads;
};

/// Whether packets of so many elements can be taken along the last dimension of `along`, wherever in `across`.
bool is_aligned(const Reduction& reduction, const Geometry& along, const Geometry& across, int width) {
  auto places = reinterpret_cast<uintptr_t>(reduction.in->data) | reinterpret_cast<uintptr_t>(reduction.args.in[1]);
  const int64_t size = std::max(itemsize(reduction.in->dtype), reduction.unit);
  if (places % static_cast<uintptr_t>(width * size) != 0) return false;
  auto fits = [&](int64_t stride) { return stride % width == 0; };
  return std::all_of(across.strides[0], across.strides[0] + across.ndim, fits) &&
         std::all_of(along.strides[0], along.strides[0] + along.ndim - 1, fits);
}

int64_t last_stride(const Geometry& geometry) {
  return geometry.ndim == 0 ? INT64_MAX : std::abs(geometry.strides[0][geometry.ndim - 1]);
}

int packet_width(const Reduction& reduction) {
  const auto size = std::max(itemsize(reduction.in->dtype), reduction.unit);
  return static_cast<int>(std::min<int64_t>(16 / size, 8));
}

void choose_packets(Shape& shape, const Reduction& reduction, const Shares& shares) {
  const Geometry& reduced = shares.reduced;
  const int width = packet_width(reduction);
  const bool packed = shape.by_rows && reduced.ndim > 0 && reduced.strides[0][reduced.ndim - 1] == 1;
  if (packed && width > 1 && (shape.flat || reduced.sizes[reduced.ndim - 1] % width == 0)) {
    shape.width = width;
    shape.unroll = width <= 4 ? 2 : 1;
    shape.aligned = is_aligned(reduction, reduced, shares.kept, width);
  } else if (width == 8) {
    shape.unroll = 8;
  }
}

/// Whether threads can take packets of outputs, which lie side by side.
bool has_column_packets(const Shape& shape, const Reduction& reduction, const Geometry& kept) {
  const int width = packet_width(reduction), last = kept.ndim - 1;
  return !shape.by_rows && width > 1 && last >= 0 && kept.strides[0][last] == 1 && kept.sizes[last] % width == 0;
}

/// Cuts the elements of an output into parts of whole units for as many blocks as are wanted.
void cut_into_parts(Shape& shape, int64_t n, int64_t wanted, int64_t unit) {
  shape.part = n;
  if (wanted <= 1) return;
  shape.part = ((n + wanted - 1) / wanted + unit - 1) / unit * unit;
  shape.parts = (n + shape.part - 1) / shape.part;
}

void share_columns(Shape& shape, const Reduction& reduction, const Shares& shares, int64_t sms) {
  const int64_t n = shares.reduced.numel, outputs = shares.kept.numel;
  shape.width = packet_width(reduction);
  shape.aligned = is_aligned(reduction, shares.kept, shares.reduced, shape.width);
  // More of a few elements each, so that threads have something to do.
  const int64_t most = n * 16 <= kThreads ? 16 : 8;
  const auto all = static_cast<int>(std::min(power_of_two(blocks_for(outputs, shape.width)), most));
  shape.packets = all;
  const int64_t blocks = blocks_for(outputs, shape.packets * shape.width);
  const int64_t unit = int64_t{4} * kThreads / all;
  if (blocks >= sms * 2) {
    cut_into_parts(shape, n, 1, unit);
  } else if (n <= kShortColumn) {  // large blocks of few outputs do it in one launch
    shape.packets = std::min(all, 2);
    shape.threads = n > 256 ? 1024 : kThreads;
    cut_into_parts(shape, n, 1, unit);
  } else {
    cut_into_parts(shape, n, std::min(sms * 4 / blocks, n / (2 * unit)), unit);
  }
}

Shape shape_of(const Reduction& reduction, const Shares& shares) {
  const int64_t n = shares.reduced.numel, outputs = shares.kept.numel, sms = use(reduction.in->device).multiprocessors;
  Shape shape;
  shape.flat = shares.reduced.ndim <= 1;
  shape.wide = n >= kNarrow || outputs >= kNarrow;
  shape.by_rows = last_stride(shares.reduced) <= last_stride(shares.kept) || outputs == 1;
  if (has_column_packets(shape, reduction, shares.kept)) {
    share_columns(shape, reduction, shares, sms);
    return shape;
  }
  choose_packets(shape, reduction, shares);
  const int64_t at_once = shape.width * shape.unroll;
  if (shape.by_rows) {
    // More threads than a row's elements keep busy only where there would be too few.
    int64_t group = std::min<int64_t>(power_of_two((n + at_once - 1) / at_once), kThreads);
    while (group < kThreads && outputs * group < sms * 1024 && group * shape.width < n) group *= 2;
    shape.group = static_cast<int>(group);
  } else {
    const int64_t columns = std::min<int64_t>(power_of_two(outputs), 32);
    shape.group = static_cast<int>(kThreads / columns);
    // Short columns: fewer threads for each, as long as there are enough of them.
    while (shape.group > 1 && shape.group * shape.unroll > n && outputs * shape.group > sms * 2048) shape.group /= 2;
    while (shape.group > 1 && shape.group / 2 >= n) shape.group /= 2;
  }
  const int64_t blocks = blocks_for(outputs, kThreads / shape.group), least = shape.group * at_once * 2;
  const int64_t wanted = std::min((sms * 8 + blocks - 1) / std::max<int64_t>(blocks, 1), n / least);
  cut_into_parts(shape, n, blocks < sms * 2 ? wanted : 1, shape.group * at_once);
  return shape;
}

void fill_args(ReduceArgs& args, const Reduction& reduction, const Shares& shares, const Shape& shape) {
  const Geometry &kept = shares.kept, &reduced = shares.reduced;
  args.in[0] = reduction.in->data;
  for (int i = 0; i < 2; ++i) args.out[i] = reduction.outs[i] ? reduction.outs[i]->data : nullptr;
  args.outputs = kept.numel;
  args.n = reduced.numel;
  args.part = shape.part;
  args.parts = static_cast<int32_t>(shape.parts);
  args.group = std::countr_zero(static_cast<unsigned>(shape.group));
  args.kept_dims = kept.ndim;
  args.reduced_dims = reduced.ndim;
  std::copy_n(kept.sizes, kept.ndim, args.kept_sizes);
  std::copy_n(kept.strides[0], kept.ndim, args.kept_in);
  for (int i = 0; i < 2; ++i) std::copy_n(kept.strides[i + 1], kept.ndim, args.kept_out[i]);
  std::copy_n(reduced.sizes, reduced.ndim, args.reduced_sizes);
  std::copy_n(reduced.strides[0], reduced.ndim, args.reduced_in);
}

/// The call of a template of device/reduce.h.
std::string call_of(const Shape& shape) {
  auto flag = [](bool value) { return value ? ", true" : ", false"; };
  const std::string begin = std::string(shape.packets ? "reduce_columns<Op, " : "reduce<Op, ") +
                            (shape.wide ? "int64_t, " : "uint32_t, ") + std::to_string(shape.threads),
                    width = ", " + std::to_string(shape.width);
  if (shape.packets)
    return begin + ", " + std::to_string(shape.packets) + flag(shape.flat) + width + flag(shape.aligned) + ">";
  return begin + flag(shape.by_rows) + flag(shape.flat) + width + flag(shape.aligned) + ", " +
         std::to_string(shape.unroll) + ">";
}

std::string text_of(const Reduction& reduction, const std::string& call, int threads = kThreads) {
  return std::string("#include \"") + reduction.header +
         "\"\nusing namespace adjoint;\nusing namespace adjoint::cuda;\n" + "using Op = " + reduction.op +
         ";\nADJOINT_KERNEL(ReduceArgs, " + std::to_string(threads) + ") { " + call + "(args); }\n";
}

}  // namespace

bool can_reduce(const View& in, const View& out) {
  if (is_stored(in.dtype) || is_stored(out.dtype)) return false;
  int dims = 0;
  for (int d = 0; d < in.ndim; ++d) dims += in.sizes[d] != 1;
  return dims <= kReduceDims;
}

void launch_reduction(Reduction& reduction) {
  const Shares shares(reduction);
  if (shares.kept.numel == 0) return;
  const Shape shape = shape_of(reduction, shares);
  const Device device = reduction.in->device;
  ReduceArgs& args = reduction.args;
  fill_args(args, reduction, shares, shape);
  std::optional<Scratch> states;
  if (shape.parts > 1) {
    states.emplace(static_cast<size_t>(args.outputs * args.parts) * kMostStateBytes, device);
    args.states = states->data();
  }
  const std::string text = text_of(reduction, call_of(shape), shape.threads);
  const int64_t blocks = blocks_for(args.outputs, shape.packets ? shape.packets * shape.width : kThreads / shape.group);
  if (shape.parts == 1) return launch(device, text, args, blocks, shape.threads);
  const int group = shape.parts > 32 ? kThreads : 32;
  const std::string second =
      text_of(reduction, "reduce_parts<Op, " + std::to_string(kThreads) + ", " + std::to_string(group) + ">");
  if (is_new(device.index, text)) compile_ahead(device.index, second);
  launch(device, text, args, blocks, shape.threads, shape.parts);
  launch(device, second, args, blocks_for(args.outputs, kThreads / group));
}

}  // namespace adjoint::cuda
