#include "cuda/folding.h"

#include "cuda/device/folding_args.h"
#include "cuda/launch.h"
#include "cuda/walk.h"

namespace adjoint::cuda {
namespace {

void run(const kernels::FoldShape& shape, const View& in, const View& out, const std::string& call) {
  FoldArgs args{in.data, out.data, out.numel(), {}, {}, {}, {}, {}, {}};
  for (int d = 0; d < 2; ++d) {
    args.size[d] = shape.size[d];
    args.kernel[d] = shape.kernel[d];
    args.stride[d] = shape.stride[d];
    args.padding[d] = shape.padding[d];
    args.dilation[d] = shape.dilation[d];
    args.blocks[d] = shape.blocks[d];
  }
  launch(out.device, kernel_text("folding.h", "FoldArgs", call), args, blocks_for(args.numel));
}

}  // namespace

void unfold_planes(const kernels::FoldShape& shape, const View& in, const View& out) {
  run(shape, in, out, std::string("unfold<") + word_type(itemsize(in.dtype)) + ">");
}

void fold_planes(const kernels::FoldShape& shape, const View& in, const View& out) {
  run(shape, in, out, std::string("fold<") + device_type(in.dtype) + ">");
}

}  // namespace adjoint::cuda
