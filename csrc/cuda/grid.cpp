#include "cuda/grid.h"

#include <algorithm>
#include <bit>

#include "core/deterministic.h"
#include "cuda/device/grid_args.h"
#include "cuda/launch.h"
#include "cuda/memory.h"
#include "cuda/radix.h"
#include "cuda/through_cpu.h"
#include "cuda/walk.h"

namespace adjoint::cuda {
namespace {

using kernels::GridMode;
using kernels::GridShape;

/// So many threads keep a device busy; where points are fewer, channels are shared out.
constexpr int64_t kEnough = 1 << 17, kMostParts = 65535;

GridArgs args_of(const GridShape& shape, const View& grid, const View* direction, const View& out) {
  GridArgs args{};
  args.grid = grid.data;
  args.direction = data_of<const char>(direction);
  args.out = out.data;
  args.batch = shape.batch;
  args.channels = shape.channels;
  args.points = shape.points;
  args.plane = shape.plane();
  for (int d = 0; d < 3; ++d) args.size[d] = d < shape.dims ? shape.size[d] : 1;
  args.channels_each = shape.channels;
  args.padding = static_cast<int32_t>(shape.padding);
  args.align_corners = shape.align_corners;
  return args;
}

/// Cuts the channels into as many parts as n threads each need to be enough; returns the parts.
int64_t share_out(int64_t n, int64_t channels, int64_t& channels_each) {
  const int64_t parts = std::clamp<int64_t>(kEnough / std::max<int64_t>(n, 1), 1, std::min(channels, kMostParts));
  channels_each = (channels + parts - 1) / parts;
  return (channels + channels_each - 1) / channels_each;
}

/// A kernel of points, with what comes after its own arguments.
std::string call_of(const char* name, const GridShape& shape, const View* direction, const View& out,
                    const std::string& more = "") {
  const char* mode = shape.mode == GridMode::Linear ? "Linear" : shape.mode == GridMode::Nearest ? "Nearest" : "Cubic";
  return std::string(name) + "<" + device_type(out.dtype) + ", " + std::to_string(shape.dims) + ", GridMode::" + mode +
         (direction ? ", true" : ", false") + more + ">";
}

/// The gradient of images with sums in one order. False where there are too many taps to sort.
bool sorted_image_grad(const GridShape& shape, GridArgs& args, const View* direction, const View& out) {
  const int each = shape.mode == GridMode::Nearest ? 1 : shape.mode == GridMode::Linear ? 2 : 4;
  const int taps = shape.dims == 3 ? each * each * each : each * each;
  const int64_t points = shape.batch * shape.points, n = points * taps, none = shape.batch * args.plane;
  if (n >= kMostKeys) return false;
  const int bits = std::bit_width(static_cast<uint64_t>(none));
  KeySort keys(n, bits, out.device);
  const Scratch weights(static_cast<size_t>(n * itemsize(out.dtype)), out.device);
  args.keys = keys.keys();
  args.weights = weights.data();
  const std::string key = std::string(", ") + keys.key_type();
  launch(out.device, kernel_text("grid.h", "GridArgs", call_of("number_taps", shape, direction, out, key)), args,
         blocks_for(points));
  keys.sort();
  GridOwnerArgs owners{keys.keys(), weights.data(), args.samples, keys.places(), out.data, n,
                       none,        args.channels,  args.points,  args.plane,    0};
  const int64_t parts = share_out(n, args.channels, owners.channels_each);
  const std::string call = std::string("sum_taps<") + device_type(out.dtype) + key + ", " + std::to_string(taps) + ">";
  launch(out.device, kernel_text("grid.h", "GridOwnerArgs", call), owners, blocks_for(n), kThreads, parts);
  return true;
}

}  // namespace

void grid_sample(const GridShape& shape, const View& image, const View& grid, const View* direction, const View& out) {
  GridArgs args = args_of(shape, grid, direction, out);
  args.image = image.data;
  const int64_t points = shape.batch * shape.points, parts = share_out(points, shape.channels, args.channels_each);
  launch(out.device, kernel_text("grid.h", "GridArgs", call_of("grid_sample", shape, direction, out)), args,
         blocks_for(points), kThreads, parts);
}

void grid_image_grad(const GridShape& shape, const View& grad, const View& grid, const View* direction,
                     const View& out) {
  GridArgs args = args_of(shape, grid, direction, out);
  args.samples = grad.data;
  clear(out);
  const int64_t points = shape.batch * shape.points;
  if (points == 0) return;
  // Sums in no order are what torch has, too, unless a program asks for more.
  if (deterministic.enabled) {
    if (!sorted_image_grad(shape, args, direction, out)) through_cpu.grid.image_grad(shape, grad, grid, direction, out);
    return;
  }
  const int64_t parts = share_out(points, shape.channels, args.channels_each);
  launch(out.device, kernel_text("grid.h", "GridArgs", call_of("grid_image_grad", shape, direction, out)), args,
         blocks_for(points), kThreads, parts);
}

void grid_grad(const GridShape& shape, const View& grad, const View& image, const View& grid, const View* direction,
               const View& out) {
  // The nearest element stays the same for a while.
  if (shape.mode == GridMode::Nearest || shape.channels == 0) return clear(out);
  GridArgs args = args_of(shape, grid, direction, out);
  args.samples = grad.data;
  args.image = image.data;
  const int64_t points = shape.batch * shape.points;
  const int group = shape.channels >= 16 && points * 32 <= kEnough ? 32 : 1;
  const std::string call = call_of("grid_grad", shape, direction, out, ", " + std::to_string(group));
  launch(out.device, kernel_text("grid.h", "GridArgs", call), args, blocks_for(points * group));
}

}  // namespace adjoint::cuda
