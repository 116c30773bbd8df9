#include "cuda/sums.h"

#include "cuda/device/sums_args.h"
#include "cuda/launch.h"
#include "cuda/walk.h"
#include "kernels/elementwise.h"

namespace adjoint::cuda {

static_assert(kernels::kMaxSums == std::extent_v<decltype(SumsArgs::others)>);

void add_all(const View& out, std::span<const View> others) {
  const std::string call = std::string("add_all<") + device_type(out.dtype) + ">";
  SumsArgs args{out.data, {}, static_cast<int32_t>(others.size()), out.numel()};
  for (size_t i = 0; i < others.size(); ++i) args.others[i] = others[i].data;
  launch(out.device, kernel_text("sums.h", "SumsArgs", call), args, blocks_for(args.numel));
}

}  // namespace adjoint::cuda
