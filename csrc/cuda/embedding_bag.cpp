#include "cuda/embedding_bag.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "cuda/device/embedding_bag_args.h"
#include "cuda/faults.h"
#include "cuda/launch.h"
#include "cuda/memory.h"
#include "cuda/radix.h"
#include "cuda/scatter.h"
#include "cuda/through_cpu.h"
#include "cuda/walk.h"

namespace adjoint::cuda {
namespace {

using kernels::BagMode;
using kernels::Bags;

/// So few threads leave a device idle.
constexpr int64_t kFew = 1 << 15;

BagArgs args_of(const Bags& bags, int64_t rows, int64_t width, Device device) {
  BagArgs args{};
  args.indices = bags.indices.as<const int64_t>();
  args.length = bags.indices.numel();
  args.count = bags.count;
  args.rows = rows;
  args.width = width;
  args.padding = bags.padding;
  args.mean = bags.mode == BagMode::Mean;
  args.fault = fault_record(device.index);
  return args;
}

void run(Device device, const std::string& call, BagArgs& args, int64_t threads) {
  launch(device, kernel_text("embedding_bag.h", "BagArgs", call), args, blocks_for(threads));
}

std::string typed(const char* name, DType dtype, int group = 0) {
  const std::string more = group ? ", " + std::to_string(group) : "";
  return std::string(name) + "<" + device_type(dtype) + more + ">";
}

/// Adds the gradients of bags to the rows that `details` names the greatest elements of.
bool add_to_greatest(BagArgs& args, const View& grad, const View& details, const View& out) {
  const Device device = out.device;
  const DType wide = compute_type(grad.dtype);
  const int64_t n = grad.numel();
  const Scratch full(static_cast<size_t>(args.count) * sizeof(int32_t), device);
  const Scratch kept(static_cast<size_t>(n * itemsize(wide)), device);
  const int64_t step = 1;
  clear({full.data(), DType::Int32, 1, &args.count, &step, device});
  args.full = reinterpret_cast<int32_t*>(full.data());
  run(device, "find_full", args, args.length);
  args.out = kept.data();
  run(device, typed("widen_full", grad.dtype), args, n);
  std::optional<Scratch> sums;
  View to = out;
  if (wide != out.dtype) {
    to.data = sums.emplace(static_cast<size_t>(out.numel() * itemsize(wide)), device).data();
    to.dtype = wide;
    clear(to);
  }
  const View from{kept.data(), wide, grad.ndim, grad.sizes, grad.strides, device};
  const View rows{details.data, DType::Int64, grad.ndim, grad.sizes, grad.strides, device};
  if (!Scatter::elements(to, 0, rows, &from).merge({"Add"})) return false;
  if (sums) copy(to, out);
  return true;
}

/// Adds the gradients of bags to their rows: indices are sorted, so that sums have one order.
bool add_to_rows(BagArgs& args, const View& grad, const View* factors, const View& details, bool by_frequency,
                 const View& out) {
  const Device device = out.device;
  if (args.length >= kMostKeys) return false;
  std::optional<Scratch> uses;
  if (by_frequency) {
    const int64_t step = 1;
    args.out = uses.emplace(static_cast<size_t>(args.rows) * 8, device).data();
    clear({uses->data(), DType::Int64, 1, &args.rows, &step, device});
    run(device, "count_uses", args, args.length);
  }
  const int bits = std::bit_width(static_cast<uint64_t>(args.rows));
  KeySort keys(args.length, bits, device);
  args.out = keys.keys();
  run(device, std::string("number_rows<") + keys.key_type() + ">", args, args.length);
  keys.sort();
  const int64_t parts = (args.length + kBagChunk - 1) / kBagChunk * args.width;
  const int64_t bytes = parts * itemsize(compute_type(grad.dtype));
  const Scratch sums(static_cast<size_t>(2 * bytes), device);
  BagRowArgs rows{keys.keys(),
                  keys.places(),
                  data_of<const char>(factors),
                  grad.data,
                  args.owner,
                  details.as<const int64_t>(),
                  uses ? reinterpret_cast<const unsigned long long*>(uses->data()) : nullptr,
                  out.data,
                  sums.data(),
                  sums.data() + bytes,
                  args.length,
                  args.rows,
                  args.width,
                  args.mean};
  const std::string types = std::string("<") + device_type(out.dtype) + ", " + keys.key_type() + ">";
  for (const char* name : {"sum_chunks", "join_chunks"})
    launch(device, kernel_text("embedding_bag.h", "BagRowArgs", name + types), rows, blocks_for(parts));
  return true;
}

}  // namespace

kernels::BagFault bag_fault(const View&, const View&, int64_t) { return {}; }

void embedding_bag(const Bags& bags, const View& table, const View* factors, const View& out, const View& owner,
                   const View& details) {
  const Device device = table.device;
  BagArgs args = args_of(bags, table.sizes[0], table.sizes[1], device);
  args.starts = bags.starts.as<const int64_t>();
  args.start_count = bags.starts.numel();
  args.table = table.data;
  args.factors = data_of<const char>(factors);
  args.owner = owner.as<int64_t>();
  args.details = details.as<int64_t>();
  args.out = out.data;
  run(device, "find_owners", args, std::max(args.length, args.start_count));
  if (bags.mode == BagMode::Max)
    return run(device, typed("greatest_of_bags", table.dtype), args, args.count * args.width);
  const int64_t columns = std::max<int64_t>(args.width, 1), items = args.count * columns;
  // A warp reads a long bag together; otherwise neighbouring threads read neighbouring columns.
  const bool narrow = columns <= 8 && args.length >= 64 * args.count;
  const int group = narrow || (items < kFew && args.length >= 256 * args.count) ? 32 : 1;
  run(device, typed("sum_bags", table.dtype, group), args, items * group);
}

void embedding_bag_table_grad(const Bags& bags, const View& grad, const View* factors, const View& owner,
                              const View& details, bool by_frequency, const View& out) {
  BagArgs args = args_of(bags, out.sizes[0], out.sizes[1], out.device);
  args.count = grad.sizes[0];
  args.owner = owner.as<int64_t>();
  args.grad = grad.data;
  clear(out);
  if (out.numel() == 0 || args.length == 0 || args.count == 0) return;
  const bool here = bags.mode == BagMode::Max ? add_to_greatest(args, grad, details, out)
                                              : add_to_rows(args, grad, factors, details, by_frequency, out);
  if (!here) through_cpu.embedding_bag.table_grad(bags, grad, factors, owner, details, by_frequency, out);
}

void embedding_bag_factors_grad(const Bags& bags, const View& grad, const View& table, const View& owner,
                                const View& out) {
  BagArgs args = args_of(bags, table.sizes[0], table.sizes[1], out.device);
  args.owner = owner.as<int64_t>();
  args.grad = grad.data;
  args.table = table.data;
  args.out = out.data;
  const int group = args.width > 8 ? 32 : 1;
  run(out.device, typed("factors_grad", table.dtype, group), args, args.length * group);
}

}  // namespace adjoint::cuda
