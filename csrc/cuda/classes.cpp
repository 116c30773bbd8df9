// The scores of classes that targets name, and the way back.
#include "cuda/device/classes_args.h"
#include "cuda/faults.h"
#include "cuda/indexing.h"
#include "cuda/launch.h"
#include "cuda/walk.h"

namespace adjoint::cuda {
namespace {

using kernels::Classes;
using kernels::LossReduction;

/// So many targets for each block that adds up.
constexpr int64_t kTargets = 8 * kClassThreads, kMostBlocks = 512;

ClassArgs args_of(const View& target, const View* weight, const Classes& classes, LossReduction reduction) {
  ClassArgs args{};
  args.target = target.as<const int64_t>();
  args.weight = data_of<const double>(weight);
  args.n = target.numel();
  args.count = classes.count;
  args.inner = classes.inner;
  args.ignored = classes.ignored;
  args.each = reduction == LossReduction::None;
  args.mean = reduction == LossReduction::Mean;
  args.blocks = std::clamp<int64_t>((args.n + kTargets - 1) / kTargets, 1, kMostBlocks);
  args.fault = fault_record(target.device.index);
  return args;
}

std::string text_of(const std::string& call) { return kernel_text("classes.h", "ClassArgs", call, kClassThreads); }

void run(Device device, const std::string& call, ClassArgs& args, int64_t blocks) {
  launch(device, text_of(call), args, blocks, kClassThreads);
}

std::string typed(const char* name, DType dtype) { return std::string(name) + "<" + device_type(dtype) + ">"; }

}  // namespace

/// Whoever reads the targets looks itself: a launch less.
void check_classes(const View&, const Classes&) {}

void class_scores(const View& scores, const View& target, const View* weight, const Classes& classes,
                  LossReduction reduction, const View& loss, const View& total) {
  ClassArgs args = args_of(target, weight, classes, reduction);
  args.scores = scores.data;
  args.loss = loss.data;
  args.total = total.data;
  Scratch parts(static_cast<size_t>(args.blocks) * 2 * sizeof(double), scores.device);
  args.parts = reinterpret_cast<double*>(parts.data());
  const std::string text = text_of(typed("class_scores", scores.dtype));
  if (needs_backward(scores.device.index, text))
    compile_ahead(scores.device.index, text_of(typed("class_scores_backward", scores.dtype)));
  launch(scores.device, text, args, args.blocks, kClassThreads);
  if (args.blocks > 1) run(scores.device, typed("sum_class_parts", scores.dtype), args, 1);
}

void class_scores_backward(const View& g, const View& target, const View* weight, const Classes& classes,
                           LossReduction reduction, const View& total, const View& out) {
  ClassArgs args = args_of(target, weight, classes, reduction);
  args.scores = g.data;
  args.loss = out.data;
  args.total = total.data;
  run(g.device, typed("class_scores_backward", g.dtype), args, blocks_for(args.n, kClassThreads));
}

}  // namespace adjoint::cuda
