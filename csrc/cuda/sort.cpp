#include "cuda/sort.h"

#include <bit>

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

/// How many of a key's bits differ among elements.
int key_bits(DType dtype) { return static_cast<int>(8 * itemsize(dtype)); }

void launch_long(Device device, SortArgs& args, DType dtype, const char* keep) {
  const std::string type = device_type(dtype);
  KeySort keys(args.rows * args.n, itemsize(dtype) == 8 ? 8 : 4, device);
  auto run = [&](const std::string& call, int64_t blocks) {
    args.keys = keys.keys();
    args.places = keys.places();
    launch(device, kernel_text("sort.h", "SortArgs", call), args, blocks);
  };
  run("make_keys<" + type + ">", blocks_for(args.rows * args.n));
  keys.sort(key_bits(dtype), args.n);
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
  args.keys = sorted_keys;
  args.places = sorted_places;
  args.walk.numel = 1;
  launch_short(device, args, key_bytes == 4 ? "uint32_t" : "uint64_t", "Pairs");
}

}  // namespace adjoint::cuda
