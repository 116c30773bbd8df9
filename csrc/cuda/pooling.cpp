#include "cuda/pooling.h"

#include "cuda/device/pooling_args.h"
#include "cuda/launch.h"
#include "cuda/memory.h"
#include "cuda/scatter.h"
#include "cuda/through_cpu.h"
#include "cuda/walk.h"

namespace adjoint::cuda {
namespace {

PoolArgs args_of(const kernels::PoolShape& shape, const View& in, const View& out) {
  PoolArgs args{};
  args.in = in.data;
  args.out = out.data;
  args.numel = out.numel();
  for (int d = 0; d < 3; ++d) {
    const kernels::PoolAxis& axis = shape.axes[d];
    args.axes[d] = {axis.in,     axis.out,     axis.taps,     axis.step,
                    axis.stride, axis.padding, axis.adaptive, axis.counts_padding};
  }
  return args;
}

void run(const char* name, const View& out, PoolArgs& args) {
  const std::string call = std::string(name) + "<" + device_type(out.dtype) + ">";
  launch(out.device, kernel_text("pooling.h", "PoolArgs", call), args, blocks_for(args.numel));
}

}  // namespace

void max_pool(const kernels::PoolShape& shape, const View& in, const View& out, const View* indices) {
  PoolArgs args = args_of(shape, in, out);
  args.indices = data_of<int64_t>(indices);
  run("max_pool", out, args);
}

void mean_pool(const kernels::PoolShape& shape, int64_t divisor, const View& in, const View& out) {
  PoolArgs args = args_of(shape, in, out);
  args.divisor = divisor;
  run("mean_pool", out, args);
}

void mean_pool_backward(const kernels::PoolShape& shape, int64_t divisor, const View& in, const View& out) {
  PoolArgs args = args_of(shape, in, out);
  args.divisor = divisor;
  run("mean_pool_backward", out, args);
}

void fractional_max_pool(const kernels::PoolShape& shape, int dims, const View& samples, const View& in,
                         const View& out, const View& indices) {
  PoolArgs args = args_of(shape, in, out);
  args.indices = indices.as<int64_t>();
  args.samples = samples.data;
  args.dims = dims;
  for (PoolWindows& axis : args.axes) axis.step = 1;
  run("fractional_max_pool", out, args);
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
