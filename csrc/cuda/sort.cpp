#include "cuda/sort.h"

#include <bit>
#include <optional>

#include "cuda/device/radix_args.h"
#include "cuda/device/sort_args.h"
#include "cuda/launch.h"
#include "cuda/radix.h"
#include "cuda/through_cpu.h"
#include "cuda/walk.h"

namespace adjoint::cuda {
namespace {

constexpr int kSmallRoom = 1024, kSmallThreads = 256, kLargeThreads = 512;

/// A kernel with the room that rows of this length need.
void launch_short(Device device, SortArgs& args, const char* type, const char* keep) {
  args.padded = static_cast<int32_t>(std::max<uint64_t>(32, std::bit_ceil(static_cast<uint64_t>(args.n))));
  const bool small = args.padded <= kSmallRoom;
  const int64_t room = small ? kSmallRoom : kShortRow, rows = room / args.padded;
  const int threads = small ? kSmallThreads : kLargeThreads;
  const std::string call = std::string("sort_rows<") + type + ", Keep::" + keep + ", " + std::to_string(threads) +
                           ", " + std::to_string(room) + ">";
  launch(device, kernel_text("sort.h", "SortArgs", call, threads), args, (args.rows + rows - 1) / rows, threads);
}

constexpr int64_t kSelected = 2048;  // the most that a block chooses from a long row: kSelectRoom of device/select.h

/// The first k of long rows by blocks, where there are rows enough for them and few are wanted.
bool launch_selection(Device device, SortArgs& args, const char* type) {
  constexpr int64_t kNotSoLong = 65536, kRows = 32;
  constexpr int kSelectThreads = 512;
  if (args.k > kSelected || args.k > args.n / 4 || (args.n > kNotSoLong && args.rows < kRows)) return false;
  args.padded = static_cast<int32_t>(std::max<uint64_t>(2, std::bit_ceil(static_cast<uint64_t>(args.k))));
  const std::string call = std::string("select_rows<") + type + ">";
  launch(device, kernel_text("select.h", "SortArgs", call, kSelectThreads), args, args.rows, kSelectThreads);
  return true;
}

/// Whether rows of n elements lie one after the other in a view of the walk.
bool has_packed_rows(const SortArgs& args, int view) {
  const auto& walk = args.walk;
  return args.steps[view] == 1 && (walk.ndim == 0 || (walk.ndim == 1 && walk.strides[view][0] == args.n));
}

void launch_long(Device device, SortArgs& args, DType dtype, const char* keep) {
  const std::string type = device_type(dtype);
  const int64_t n = args.rows * args.n, size = itemsize(dtype);
  auto run = [&](const std::string& call, int64_t blocks) {
    launch(device, kernel_text("sort.h", "SortArgs", call), args, blocks);
  };
  std::optional<Scratch> packed, sorted;
  if (!has_packed_rows(args, 0)) {
    args.sorted = packed.emplace(static_cast<size_t>(n * size), device).data();
    run("pack_rows<" + type + ">", blocks_for(n));
  }
  RadixArgs sort{};
  sort.in = packed ? packed->data() : args.in;
  sort.n = n;
  sort.row = args.rows > 1 ? args.n : 0;
  sort.flip = args.flip;
  const bool whole = *keep == 'F' && args.k == args.n && has_packed_rows(args, 1) && has_packed_rows(args, 2);
  if (whole) {
    sort.out = args.values;
    sort.places = args.indices;
    sort.wide = true;
  } else {
    sorted.emplace(static_cast<size_t>(places_offset(n, size) + n * 4), device);
    sort.out = sorted->data();
    sort.places = sorted->data() + places_offset(n, size);
  }
  sort_by_digits(device, sort, type.c_str(), size, static_cast<int>(8 * size));
  if (whole) return;
  args.sorted = static_cast<char*>(sort.out);
  args.places = static_cast<uint32_t*>(sort.places);
  if (*keep == 'F') return run("write_first<" + type + ">", blocks_for(args.rows * args.k));
  run("write_chosen<" + type + ", Keep::" + keep + ", " + std::to_string(kThreads) + ">", args.rows);
}

/// Keeps of each row what `keep` says; false where a kernel cannot.
bool select(const View& in, const View& values, const View& indices, int dim, int64_t k, bool flip, const char* keep) {
  if (is_stored(in.dtype) || is_complex(in.dtype)) return false;
  const View views[] = {at_least_1d(in), at_least_1d(values), at_least_1d(indices)};
  const View* rows[3];
  View without[3];
  int64_t sizes[kMaxDims], strides[3][kMaxDims];
  SortArgs args{};
  for (int v = 0; v < 3; ++v) {
    int kept = 0;
    for (int d = 0; d < views[0].ndim; ++d) {
      if (d == dim) continue;
      sizes[kept] = views[0].sizes[d];
      strides[v][kept++] = views[v].strides[d];
    }
    without[v] = {views[v].data, views[v].dtype, kept, sizes, strides[v], in.device};
    rows[v] = &without[v];
    args.steps[v] = views[v].strides[dim];
  }
  const Geometry geometry = joint_geometry(rows);
  args.rows = geometry.numel;
  args.n = views[0].sizes[dim];
  const bool is_long = args.n > kShortRow;
  if (!fits(geometry) || (is_long && args.rows * args.n >= kMostKeys)) return false;
  if (args.rows * args.n == 0 || values.numel() == 0) return true;
  set_walk(geometry, args.walk);
  args.k = k;
  args.flip = flip;
  args.rows_first = geometry.ndim > 0 && std::abs(geometry.strides[0][geometry.ndim - 1]) < std::abs(args.steps[0]);
  args.in = in.data;
  args.values = values.data;
  args.indices = indices.as<int64_t>();
  if (is_long && *keep == 'F' && launch_selection(in.device, args, device_type(in.dtype))) return true;
  if (is_long) {
    launch_long(in.device, args, in.dtype, keep);
  } else {
    launch_short(in.device, args, device_type(in.dtype), keep);
  }
  return true;
}

}  // namespace

void sort(const View& in, const View& values, const View& indices, int dim, bool descending) {
  const int64_t n = in.ndim == 0 ? 1 : in.sizes[dim];
  if (!select(in, values, indices, dim, n, descending, "First"))
    through_cpu.sort.sort(in, values, indices, dim, descending);
}

void topk(const View& in, const View& values, const View& indices, int64_t k, int dim, bool largest) {
  const int64_t n = in.ndim == 0 ? 1 : in.sizes[dim];
  if (k < 0 || k > n || !select(in, values, indices, dim, in.ndim == 0 ? 1 : k, largest, "First"))
    through_cpu.sort.topk(in, values, indices, k, dim, largest);
}

void kthvalue(const View& in, const View& values, const View& indices, int64_t k, int dim) {
  const int64_t n = in.ndim == 0 ? 1 : in.sizes[dim];
  if (k < 1 || k > n || !select(in, values, indices, dim, k, false, "Kth"))
    through_cpu.sort.kthvalue(in, values, indices, k, dim);
}

void median(const View& in, const View& values, const View& indices, int dim, bool ignore_nan) {
  if (!select(in, values, indices, dim, 1, false, ignore_nan ? "MedianOfNumbers" : "Median"))
    through_cpu.sort.median(in, values, indices, dim, ignore_nan);
}

void mode(const View& in, const View& values, const View& indices, int dim) {
  if (!select(in, values, indices, dim, 1, false, "Mode")) through_cpu.sort.mode(in, values, indices, dim);
}

void sort_pairs(Device device, const char* keys, int64_t key_bytes, int64_t n, char* sorted_keys,
                uint32_t* sorted_places) {
  SortArgs args{};
  args.in = keys;
  args.rows = 1;
  args.n = n;
  args.steps[0] = 1;
  args.sorted = sorted_keys;
  args.places = sorted_places;
  args.walk.numel = 1;
  launch_short(device, args, key_bytes == 4 ? "uint32_t" : "uint64_t", "Pairs");
}

}  // namespace adjoint::cuda
