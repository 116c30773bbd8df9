#include "cuda/segments.h"

#include "cuda/launch.h"

namespace adjoint::cuda {

void segments(const View& in, const View& ends, const View& out, kernels::Segments kind) {
  constexpr const char* kinds[] = {"SegmentSum", "SegmentMax", "SegmentMin", "SegmentProd"};
  const int64_t results = out.numel(), lines = in.sizes[0], count = ends.sizes[1] - 1;
  if (results == 0 || lines * count <= 0) return;
  SegmentArgs args{in.data, ends.as<int64_t>(), out.data, lines, in.sizes[1], count, results / (lines * count)};
  // A warp reads one long run together; neighbouring threads read neighbouring columns.
  const int group = args.inner == 1 && in.numel() / (lines * count) >= 16 ? 32 : 1;
  const std::string type = device_type(in.dtype);
  launch(in.device,
         "#include \"segments.h\"\nusing namespace adjoint;\nusing namespace "
         "adjoint::cuda;\nADJOINT_KERNEL(SegmentArgs, " +
             std::to_string(kThreads) + ") { join_segments<" + type + ", " + kinds[static_cast<int>(kind)] + "<" +
             type + ">, " + std::to_string(group) + ">(args); }\n",
         args, blocks_for(results * group));
}

}  // namespace adjoint::cuda
