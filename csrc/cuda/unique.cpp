#include "cuda/unique.h"

#include "cuda/device/unique_args.h"
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

}  // namespace

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
  const int64_t tiles = (n + kUniqueTile - 1) / kUniqueTile;
  const Scratch starts(static_cast<size_t>(tiles + 1) * 8, in.device);
  args.tiles = reinterpret_cast<int64_t*>(starts.data());
  args.values = values.data;
  args.inverse = data_of<int64_t>(inverse);
  if (counts) args.firsts = reinterpret_cast<int64_t*>(make(firsts, n * 8, in.device)->data());
  auto run = [&](const std::string& call, int64_t blocks) {
    launch(in.device, kernel_text("unique.h", "UniqueArgs", call, kUniqueThreads), args, blocks, kUniqueThreads);
  };
  const std::string type = std::string("<") + device_type(in.dtype) + ">";
  run("count_groups" + type, tiles);
  scan_counts(in.device, args.tiles, tiles);
  run("number_groups" + type, tiles);
  to_host({reinterpret_cast<char*>(args.tiles + tiles), DType::Int64, 0, nullptr, nullptr, in.device},
          {reinterpret_cast<char*>(&args.groups), DType::Int64, 0, nullptr, nullptr});
  if (counts) {
    args.counts = counts->as<int64_t>();
    run("measure_groups", blocks_for(args.groups, kUniqueThreads));
  }
  return args.groups;
}

}  // namespace adjoint::cuda
