#include "cuda/unique.h"

#include <optional>

#include "cuda/launch.h"
#include "cuda/memory.h"
#include "cuda/radix.h"
#include "cuda/scan_counts.h"
#include "cuda/sort.h"
#include "cuda/through_cpu.h"
#include "cuda/walk.h"

namespace adjoint::cuda {
namespace {

std::optional<Scratch>& make(std::optional<Scratch>& room, int64_t bytes, Device device) {
  room.emplace(static_cast<size_t>(bytes), device);
  return room;
}

void run(Device device, const std::string& call, UniqueArgs& args, int64_t blocks) {
  launch(device, kernel_text("unique.h", "UniqueArgs", call, kUniqueThreads), args, blocks, kUniqueThreads);
}

void measure_groups(Device device, UniqueArgs& args, const View& counts) {
  args.counts = counts.as<int64_t>();
  run(device, "measure_groups", args, blocks_for(args.groups, kUniqueThreads));
}

/// The order of rows, in one of two lists of n numbers.
const int64_t* sort_rows(const View& in, int64_t* list, int64_t* other) {
  MergeArgs args{in.data, nullptr, list, in.sizes[0], in.sizes[1], 1};
  const std::string call = std::string("merge_rows<") + device_type(in.dtype) + ">";
  // One row is in order, too, and written by a merge with nothing.
  for (bool more = true; more; more = args.step < args.n) {
    launch(in.device, kernel_text("unique.h", "MergeArgs", call), args, blocks_for(args.n));
    args.from = args.to;
    args.to = args.from == list ? other : list;
    args.step *= 2;
  }
  return args.from;
}

}  // namespace

int64_t number_groups(Device device, const std::string& of, UniqueArgs& args) {
  const int64_t tiles = (args.n + kUniqueTile - 1) / kUniqueTile;
  const Scratch starts(static_cast<size_t>(tiles + 1) * 8, device);
  args.tiles = reinterpret_cast<int64_t*>(starts.data());
  const std::string type = "<" + of + ">";
  run(device, "count_groups" + type, args, tiles);
  scan_counts(device, args.tiles, tiles);
  run(device, "number_groups" + type, args, tiles);
  to_host({reinterpret_cast<char*>(args.tiles + tiles), DType::Int64, 0, nullptr, nullptr, device},
          {reinterpret_cast<char*>(&args.groups), DType::Int64, 0, nullptr, nullptr});
  return args.groups;
}

int64_t unique_elements(const View& in, bool consecutive, const View& values, const View* inverse, const View* counts) {
  const int64_t n = in.numel(), step = 1, size = itemsize(in.dtype);
  if (n == 0) return 0;
  if (is_stored(in.dtype) || is_complex(in.dtype) || n >= kMostKeys)
    return through_cpu.unique.elements(in, consecutive, values, inverse, counts);
  std::optional<Scratch> copied, sorted, order, firsts;
  View row{in.data, in.dtype, 1, &n, &step, in.device};
  if (!in.is_packed()) {
    int64_t strides[kMaxDims];
    packed_strides(in, strides);
    row.data = make(copied, n * size, in.device)->data();
    copy(in, {row.data, in.dtype, in.ndim, in.sizes, strides, in.device});
  }
  UniqueArgs args{};
  args.n = n;
  args.sorted = row.data;
  if (!consecutive) {
    View ordered = row, places = row;
    ordered.data = make(sorted, n * size, in.device)->data();
    places.data = make(order, n * 8, in.device)->data();
    places.dtype = DType::Int64;
    sort(row, ordered, places, 0, false);
    args.sorted = ordered.data;
    args.order = places.as<const int64_t>();
  }
  args.values = values.data;
  args.inverse = data_of<int64_t>(inverse);
  if (counts) args.firsts = reinterpret_cast<int64_t*>(make(firsts, (n + 1) * 8, in.device)->data());
  number_groups(in.device, std::string("Elements<") + device_type(in.dtype) + ">", args);
  if (counts) measure_groups(in.device, args, *counts);
  return args.groups;
}

int64_t unique_rows(const View& in, bool consecutive, const View& firsts, const View& inverse, const View& counts) {
  const int64_t n = in.sizes[0];
  if (n == 0) return 0;
  if (is_stored(in.dtype) || is_complex(in.dtype))
    return through_cpu.unique.rows(in, consecutive, firsts, inverse, counts);
  UniqueArgs args{};
  args.n = n;
  args.width = in.sizes[1];
  args.sorted = in.data;
  std::optional<Scratch> lists;
  if (!consecutive) {
    auto* list = reinterpret_cast<int64_t*>(make(lists, 2 * n * 8, in.device)->data());
    args.order = sort_rows(in, list, list + n);
  }
  const Scratch starts(static_cast<size_t>(n + 1) * 8, in.device);
  args.values = firsts.data;
  args.inverse = inverse.as<int64_t>();
  args.firsts = reinterpret_cast<int64_t*>(starts.data());
  number_groups(in.device, std::string("Rows<") + device_type(in.dtype) + ">", args);
  measure_groups(in.device, args, counts);
  return args.groups;
}

}  // namespace adjoint::cuda
