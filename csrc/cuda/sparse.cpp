#include "cuda/sparse.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "cuda/device/sparse_args.h"
#include "cuda/faults.h"
#include "cuda/launch.h"
#include "cuda/memory.h"
#include "cuda/radix.h"
#include "cuda/through_cpu.h"
#include "cuda/unique.h"
#include "cuda/walk.h"

namespace adjoint::cuda {
namespace {

using kernels::SparseRows;

/// So few threads leave a device idle.
constexpr int64_t kFew = 1 << 15;

std::string typed(const char* name, DType dtype, int group) {
  return std::string(name) + "<" + device_type(dtype) + ", " + std::to_string(group) + ">";
}

SparseArgs args_of(const SparseRows& rows, const View& dense, const View& out) {
  SparseArgs args{};
  args.starts = rows.starts.as<const int64_t>();
  args.order = data_of<const int64_t>(rows.order);
  args.columns = rows.columns.as<const int64_t>();
  args.values = rows.values.data;
  args.dense = dense.data;
  args.out = out.data;
  args.rows = out.sizes[0];
  args.width = out.sizes[1];
  args.entries = rows.columns.numel();
  args.dense_rows = dense.sizes[0];
  args.dense_step = dense.strides[0];
  args.fault = fault_record(out.device.index);
  return args;
}

}  // namespace

int64_t sparse_group(const View& keys, int64_t bound, const View& order, const View& groups, const View& starts) {
  const int64_t n = keys.numel(), one = 1;
  const Device device = keys.device;
  if (n == 0) {
    clear({starts.data, DType::Int64, 1, &one, &one, device});
    return 0;
  }
  if (n >= kMostKeys) return through_cpu.sparse.group(keys, bound, order, groups, starts);
  const int bits = std::bit_width(static_cast<uint64_t>(std::max<int64_t>(bound - 1, 1)));
  KeySort sorted(n, bits, device);
  SparseKeyArgs args{keys.as<const int64_t>(), sorted.keys(), nullptr, order.as<int64_t>(), n};
  launch(device, kernel_text("sparse.h", "SparseKeyArgs", std::string("take_keys<") + sorted.key_type() + ">"), args,
         blocks_for(n));
  sorted.sort();
  args.places = sorted.places();
  launch(device, kernel_text("sparse.h", "SparseKeyArgs", "widen_places"), args, blocks_for(n));
  UniqueArgs found{};
  found.n = n;
  found.sorted = sorted.keys();
  found.order = args.order;
  found.inverse = groups.as<int64_t>();
  found.firsts = starts.as<int64_t>();
  return number_groups(device, std::string("Elements<") + sorted.key_type() + ">", found);
}

void sparse_sum_groups(const View& values, const View& order, const View& starts, const View& out) {
  const int64_t groups = out.sizes[0], items = out.numel(), entries = order.numel();
  if (items == 0) return;
  if (is_stored(values.dtype)) return through_cpu.sparse.sum_groups(values, order, starts, out);
  SparseSumArgs args{values.data,   order.as<const int64_t>(), starts.as<const int64_t>(), out.data, entries, groups,
                     items / groups};
  // A warp reads a long group together; otherwise neighbouring threads read neighbouring columns.
  const bool by_warps = (args.width == 1 && entries >= 16 * groups) || (items < kFew && entries >= 256 * groups);
  const int group = by_warps ? 32 : 1;
  launch(out.device, kernel_text("sparse.h", "SparseSumArgs", typed("sum_groups", out.dtype, group)), args,
         blocks_for(items * group));
}

bool sparse_product(const SparseRows& rows, const View& dense, const View& out) {
  if (out.numel() == 0) return true;
  if (is_stored(out.dtype)) return through_cpu.sparse.product(rows, dense, out);
  SparseArgs args = args_of(rows, dense, out);
  const bool narrow = args.width < 16 && args.entries >= 8 * args.rows;
  const int group = narrow || (out.numel() < kFew && args.entries >= 256 * args.rows) ? 32 : 1;
  launch(out.device, kernel_text("sparse.h", "SparseArgs", typed("sparse_product", out.dtype, group)), args,
         blocks_for(out.numel() * group));
  return true;
}

bool sparse_sampled(const View& row, const View& column, const View& first, const View& second, const View& out) {
  const int64_t n = out.numel();
  if (n == 0) return true;
  if (is_stored(out.dtype)) return through_cpu.sparse.sampled(row, column, first, second, out);
  SampledArgs args{row.as<const int64_t>(),
                   column.as<const int64_t>(),
                   first.data,
                   second.data,
                   out.data,
                   n,
                   first.sizes[1],
                   first.sizes[0],
                   second.sizes[0],
                   first.strides[0],
                   second.strides[0],
                   fault_record(out.device.index)};
  const int group = args.width > 8 ? 32 : 1;
  launch(out.device, kernel_text("sparse.h", "SampledArgs", typed("sparse_sampled", out.dtype, group)), args,
         blocks_for(n * group));
  return true;
}

bool sparse_solve(const SparseRows& rows, bool upper, bool unit, const View& dense, const View& out) {
  if (out.numel() == 0) return true;
  SparseArgs args = args_of(rows, dense, out);
  const bool by_entries = args.width < 16;
  const int64_t parts = by_entries ? 1 : (args.width + 31) / 32, step = 1;
  constexpr int64_t kMostParts = 65535;
  if (is_stored(out.dtype) || parts > kMostParts || args.rows > std::numeric_limits<int32_t>::max())
    return through_cpu.sparse.solve(rows, upper, unit, dense, out);
  args.upper = upper;
  args.unit = unit;
  const int64_t marks = parts * (args.rows + 1);
  const Scratch memory(static_cast<size_t>(marks) * sizeof(int32_t), out.device);
  clear({memory.data(), DType::Int32, 1, &marks, &step, out.device});
  args.tickets = reinterpret_cast<int32_t*>(memory.data());
  args.done = args.tickets + parts;
  const std::string call =
      std::string("sparse_solve<") + device_type(out.dtype) + (by_entries ? ", true>" : ", false>");
  launch(out.device, kernel_text("sparse.h", "SparseArgs", call, 32), args, args.rows, 32, parts);
  return true;
}

}  // namespace adjoint::cuda
