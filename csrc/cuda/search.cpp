#include "cuda/search.h"

#include <vector>

#include "cuda/device/search_args.h"
#include "cuda/launch.h"
#include "cuda/memory.h"
#include "cuda/through_cpu.h"
#include "cuda/walk.h"

namespace adjoint::cuda {
namespace {

/// Blocks that take turns at n elements.
int64_t blocks_of_turns(int64_t n) { return std::clamp<int64_t>(n / (kCountThreads * 16), 1, 512); }

/// The bounds of all blocks, put together here.
template <class C>
std::pair<C, C> find_bounds(const View& in, DType written) {
  BoundsArgs args{in.data, nullptr, in.numel(), blocks_of_turns(in.numel())};
  const int64_t count = 2 * args.blocks, step = 1;
  Scratch parts(static_cast<size_t>(count) * sizeof(C), in.device);
  args.bounds = parts.data();
  const std::string call = std::string("bounds<") + device_type(in.dtype) + ", " + device_type(written) + ">";
  launch(in.device, kernel_text("search.h", "BoundsArgs", call, kCountThreads), args, args.blocks, kCountThreads);
  std::vector<C> found(static_cast<size_t>(count));
  to_host({parts.data(), written, 1, &count, &step, in.device},
          {reinterpret_cast<char*>(found.data()), written, 1, &count, &step});
  std::pair<C, C> all{found[0], found[1]};
  for (size_t i = 2; i < found.size(); i += 2) {
    if (all.first == all.first && !(all.first <= found[i])) all.first = found[i];
    if (all.second == all.second && !(all.second >= found[i + 1])) all.second = found[i + 1];
  }
  return all;
}

/// Counts into memory that is cleared first.
void count(const View& in, CountArgs& args, char* counts, const std::string& name, const char* type) {
  args.values = in.data;
  args.counts = reinterpret_cast<unsigned long long*>(counts);
  args.blocks = blocks_of_turns(args.n);
  use(in.device);
  check(driver().set_bytes(reinterpret_cast<Pointer>(counts), 0, static_cast<size_t>(args.bins) * 8,
                           current_stream(in.device)),
        "clearing counts");
  if (args.n == 0) return;
  const std::string call = name + "<" + type + (args.bins <= kNearBins ? "true>" : "false>");
  launch(in.device, kernel_text("search.h", "CountArgs", call, kCountThreads), args, args.blocks, kCountThreads);
}

/// The same as elements of `out`.
void count_as(const View& in, CountArgs& args, const std::string& name, const View& out) {
  args.bins = out.numel();
  if (args.bins == 0) return;
  const int64_t step = 1;
  Scratch counts(static_cast<size_t>(args.bins) * 8, out.device);
  count(in, args, counts.data(), name, (std::string(device_type(in.dtype)) + ", ").c_str());
  copy({counts.data(), DType::Int64, 1, &args.bins, &step, out.device},
       {out.data, out.dtype, 1, &args.bins, &step, out.device});
}

}  // namespace

void searchsorted(const View& sorted, const View& values, const View& out, bool right) {
  int64_t rows[kMaxDims];
  for (int d = 0; d < values.ndim; ++d) rows[d] = d + 1 < sorted.ndim ? sorted.strides[d] : 0;
  const View row{sorted.data, sorted.dtype, values.ndim, values.sizes, rows, sorted.device};
  const View* views[] = {&values, &out, &row};
  const Geometry geometry = joint_geometry(views);
  if (is_stored(sorted.dtype) || is_complex(sorted.dtype) || sorted.dtype == DType::Bool || !fits(geometry))
    return through_cpu.search.searchsorted(sorted, values, out, right);
  const int last = sorted.ndim - 1;
  SearchArgs args{sorted.data, values.data, out.as<int64_t>(), sorted.sizes[last], sorted.strides[last], right, {}};
  set_walk(geometry, args.walk);
  const std::string call =
      std::string("searchsorted<") + device_type(sorted.dtype) + ", " + index_type(is_narrow(geometry)) + ">";
  launch(out.device, kernel_text("search.h", "SearchArgs", call), args, blocks_for(geometry.numel));
}

std::pair<int64_t, int64_t> least_and_greatest(const View& values) {
  return find_bounds<int64_t>(values, DType::Int64);
}

void bincount(const View& values, const View& counts) {
  CountArgs args{};
  args.n = values.numel();
  args.bins = counts.numel();
  if (args.bins > 0) count(values, args, counts.data, "bincount", "");
}

std::pair<double, double> bounds(const View& in) { return find_bounds<double>(in, DType::Float64); }

void histc(const View& in, double min, double max, const View& out) {
  CountArgs args{};
  args.n = in.numel();
  args.least = min;
  args.greatest = max;
  count_as(in, args, "histc", out);
}

void histogram(const View& points, const View* edges, bool even, const View* weight, const View& out) {
  // Sums of weights would depend on the order of threads.
  if (weight || out.ndim > kMaxGrid) return through_cpu.search.histogram(points, edges, even, weight, out);
  CountArgs args{};
  args.n = points.sizes[0];
  args.dims = out.ndim;
  args.even = even;
  for (int d = 0; d < out.ndim; ++d) {
    args.edges[d] = edges[d].data;
    args.cells[d] = out.sizes[d];
  }
  count_as(points, args, "histogram", out);
}

}  // namespace adjoint::cuda
