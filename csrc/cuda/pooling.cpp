#include "cuda/pooling.h"

#include <algorithm>

#include "cuda/device/pooling_args.h"
#include "cuda/launch.h"
#include "cuda/memory.h"
#include "cuda/scatter.h"
#include "cuda/through_cpu.h"
#include "cuda/walk.h"

namespace adjoint::cuda {
namespace {

/// Whether places fit 32 bits, and what they are computed of: places of adaptive windows are quotients of products.
bool are_narrow(const kernels::PoolShape& shape, const View& in, const View& out) {
  constexpr int64_t kMost = int64_t{1} << 30;
  return in.numel() < kMost && out.numel() < kMost &&
         std::ranges::all_of(
             shape.axes,
             [](const kernels::PoolAxis& axis) {
               return (axis.in + 1) * (axis.out + 1) < kMost && axis.stride < kMost && axis.padding < kMost &&
                      axis.taps * axis.step < kMost && axis.out * axis.stride < kMost;
             });
}

/// Launches a kernel for what is written, after `add` has filled in the rest of its parameter.
template <class Add>
void run(const char* name, const kernels::PoolShape& shape, const View& in, const View& out, Add add) {
  auto of_width = [&]<class W>(W, const char* args_type) {
    PoolArgs<W> args{};
    args.in = in.data;
    args.out = out.data;
    args.numel = static_cast<W>(out.numel());
    for (int d = 0; d < 3; ++d) {
      const kernels::PoolAxis& axis = shape.axes[d];
      args.axes[d] = {static_cast<W>(axis.in),
                      static_cast<W>(axis.out),
                      static_cast<W>(axis.taps),
                      static_cast<W>(axis.step),
                      static_cast<W>(axis.stride),
                      static_cast<W>(axis.padding),
                      axis.adaptive,
                      axis.counts_padding};
    }
    add(args);
    const std::string call = std::string(name) + "<" + device_type(out.dtype) + ">";
    launch(out.device, kernel_text("pooling.h", args_type, call), args, blocks_for(args.numel));
  };
  are_narrow(shape, in, out) ? of_width(int32_t{}, "PoolArgs<int32_t>") : of_width(int64_t{}, "PoolArgs<int64_t>");
}

}  // namespace

void max_pool(const kernels::PoolShape& shape, const View& in, const View& out, const View* indices) {
  run("max_pool", shape, in, out, [&](auto& args) { args.indices = data_of<int64_t>(indices); });
}

void mean_pool(const kernels::PoolShape& shape, int64_t divisor, const View& in, const View& out) {
  run("mean_pool", shape, in, out, [&](auto& args) { args.divisor = divisor; });
}

void mean_pool_backward(const kernels::PoolShape& shape, int64_t divisor, const View& in, const View& out) {
  run("mean_pool_backward", shape, in, out, [&](auto& args) { args.divisor = divisor; });
}

void fractional_max_pool(const kernels::PoolShape& shape, int dims, const View& samples, const View& in,
                         const View& out, const View& indices) {
  run("fractional_max_pool", shape, in, out, [&](auto& args) {
    args.indices = indices.as<int64_t>();
    args.samples = samples.data;
    args.dims = dims;
    for (auto& axis : args.axes) axis.step = 1;
  });
}

std::optional<int64_t> scatter_planes(int64_t planes, const View& in, const View& indices, const View& out, bool add) {
  // An index that lies outside is a fault like any other one, for which nobody waits.
  clear(out);
  if (planes == 0 || in.numel() == 0) return std::nullopt;
  const int64_t count = in.numel() / planes, size = out.numel() / planes;
  const int64_t from_sizes[] = {planes, count}, from_strides[] = {count, 1};
  const int64_t to_sizes[] = {planes, size}, to_strides[] = {size, 1};
  const View src{in.data, in.dtype, 2, from_sizes, from_strides, in.device};
  const View index{indices.data, DType::Int64, 2, from_sizes, from_strides, in.device};
  const View dst{out.data, out.dtype, 2, to_sizes, to_strides, out.device};
  if (!Scatter::elements(dst, 1, index, &src).merge({add ? "Add" : "Assign"}))
    return through_cpu.pooling.scatter(planes, in, indices, out, add);
  return std::nullopt;
}

}  // namespace adjoint::cuda
