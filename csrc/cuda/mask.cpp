// Elements under a mask: masked_select, masked_scatter, nonzero and its kin, and that there are none but those.
#include "cuda/device/mask_args.h"
#include "cuda/faults.h"
#include "cuda/indexing.h"
#include "cuda/launch.h"
#include "cuda/memory.h"
#include "cuda/scan_counts.h"
#include "cuda/through_cpu.h"
#include "cuda/walk.h"

namespace adjoint::cuda {
namespace {

int64_t tiles_of(int64_t numel) { return (numel + kMaskTile - 1) / kMaskTile; }

/// The counts of tiles in memory of their own, with room for their sum.
class Starts {
 public:
  Starts(int64_t tiles, Device device) : scratch_(static_cast<size_t>(tiles + 1) * sizeof(int64_t), device) {}
  int64_t* data() const { return reinterpret_cast<int64_t*>(scratch_.data()); }

 private:
  Scratch scratch_;
};

/// A walk over the mask, and over what it masks, ready for launches.
struct Masked {
  MaskArgs args{};
  Device device;
  int64_t tiles = 0;
  bool fits_walk, narrow;

  Masked(const View& mask, const View* view) : device(mask.device) {
    const View* views[] = {&mask, view};
    const Geometry geometry = ordered_geometry({views, view ? size_t{2} : size_t{1}});
    fits_walk = fits(geometry);
    narrow = is_narrow(geometry);
    if (!fits_walk) return;
    set_walk(geometry, args.walk);
    args.mask = mask.data;
    args.view = view ? view->data : nullptr;
    args.fault = fault_record(device.index);
    tiles = tiles_of(geometry.numel);
  }

  void launch_named(const char* function, const char* type) {
    const std::string call = std::string(function) + "<" + type + ", " + index_type(narrow) + ">";
    launch(device, kernel_text("mask.h", "MaskArgs", call, kMaskThreads), args, tiles, kMaskThreads);
  }
  void count(const char* type, int64_t* starts) {
    args.starts = starts;
    launch_named("count_hits", type);
    if (tiles > 1) scan_counts(device, starts, tiles);
  }
  /// Counts where there is more than one tile, and moves.
  void run(const char* function, const char* mask_type, const char* moved) {
    if (tiles == 0) return;
    if (tiles == 1) return launch_named(function, moved);
    const Starts starts(tiles, device);
    count(mask_type, starts.data());
    launch_named(function, moved);
  }
};

bool select(const View& in, const View& mask, const View& out) {
  Masked masked(mask, &in);
  if (!masked.fits_walk) return false;
  masked.args.flat = out.data;
  masked.args.flat_size = out.sizes[0];
  masked.args.flat_step = out.strides[0];
  masked.run("masked_select", "bool", word_type(itemsize(in.dtype)));
  return true;
}

bool find(const View& in, const View& out) {
  Masked masked(in, nullptr);
  if (!masked.fits_walk || is_stored(in.dtype)) return false;
  masked.args.flat = out.data;
  masked.args.flat_size = out.sizes[0];
  masked.args.flat_step = out.strides[0];
  masked.args.column_step = out.strides[1];
  masked.args.dims = in.ndim;
  std::copy_n(in.sizes, in.ndim, masked.args.sizes);
  masked.run("nonzero", device_type(in.dtype), device_type(in.dtype));
  return true;
}

}  // namespace

void masked_select(const View& in_view, const View& mask_view, const View& out) {
  const Snapshot in(in_view, out), mask(mask_view, out);
  if (!select(*in, *mask, out)) through_cpu.indexing.masked_select(in_view, mask_view, out);
}

void masked_front(const View& in_view, const View& mask_view, const View& out) {
  const Snapshot in(in_view, out), mask(mask_view, out);
  if (!select(*in, *mask, out)) through_cpu.indexing.masked_front(in_view, mask_view, out);
}

void masked_scatter(const View& dst, const View& mask_view, const View& src_view) {
  const Snapshot mask(mask_view, dst), src(at_least_1d(src_view), dst);
  Masked masked(*mask, &dst);
  if (!masked.fits_walk) return through_cpu.indexing.masked_scatter(dst, mask_view, src_view);
  masked.args.flat = src->data;
  masked.args.flat_size = src->sizes[0];
  masked.args.flat_step = src->strides[0];
  masked.run("masked_scatter", "bool", word_type(itemsize(dst.dtype)));
}

int64_t count_nonzero(const View& in) {
  if (in.numel() == 0) return 0;
  Masked masked(in, nullptr);
  if (!masked.fits_walk || is_stored(in.dtype)) return through_cpu.indexing.count_nonzero(in);
  const Starts starts(masked.tiles, in.device);
  masked.count(device_type(in.dtype), starts.data());
  int64_t* total = starts.data() + (masked.tiles > 1 ? masked.tiles : 0);
  int64_t count = 0;
  to_host({reinterpret_cast<char*>(total), DType::Int64, 0, nullptr, nullptr, in.device},
          {reinterpret_cast<char*>(&count), DType::Int64, 0, nullptr, nullptr});
  return count;
}

void refuse_zeros(const View& in, const char* words) {
  if (in.numel() == 0) return;
  Masked masked(in, nullptr);
  if (!masked.fits_walk || is_stored(in.dtype)) return through_cpu.elementwise.refuse_zeros(in, words);
  masked.args.words = reinterpret_cast<int64_t>(words);
  masked.launch_named("refuse_zeros", device_type(in.dtype));
}

void nonzero(const View& in_view, const View& out) {
  if (out.numel() == 0) return;
  const Snapshot in(in_view, out);
  if (!find(*in, out)) through_cpu.indexing.nonzero(in_view, out);
}

void nonzero_static(const View& in_view, int64_t fill_value, const View& out) {
  if (out.numel() == 0) return;
  const Snapshot in(in_view, out);
  fill(out, &fill_value);
  if (!find(*in, out)) through_cpu.indexing.nonzero_static(*in, fill_value, out);
}

}  // namespace adjoint::cuda
