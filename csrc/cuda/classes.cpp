// The scores of classes that targets name, and the way back.
#include "cuda/device/classes_args.h"
#include "cuda/faults.h"
#include "cuda/indexing.h"
#include "cuda/launch.h"
#include "cuda/reduce_plan.h"
#include "cuda/walk.h"

namespace adjoint::cuda {
namespace {

using kernels::Classes;
using kernels::LossReduction;

constexpr int64_t kFewRows = 512;
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

/// What adds the scores up, or their log_softmax where there is what that needs.
std::string sum_text(const View& scores, const View& loss, bool has_sums) {
  return text_of(std::string("class_scores<") + device_type(loss.dtype) + ", " + device_type(scores.dtype) +
                 (has_sums ? ", true>" : ", false>"));
}
void add_up(const View& scores, const View& loss, ClassArgs& args) {
  Scratch parts(static_cast<size_t>(args.blocks) * 2 * sizeof(double), scores.device);
  args.parts = reinterpret_cast<double*>(parts.data());
  launch(scores.device, sum_text(scores, loss, args.sums), args, args.blocks, kClassThreads);
  if (args.blocks > 1) run(scores.device, typed("sum_class_parts", loss.dtype), args, 1);
}

/// A kernel of a block for each row of scores, which lie in packets of 16 bytes there and, if given, in `other`.
struct RowKernel {
  std::string text;
  int threads;

  /// `types`: the kernel's name and types.
  RowKernel(const std::string& types, const View& scores, const View* other = nullptr) {
    const auto item = static_cast<uintptr_t>(itemsize(scores.dtype));
    auto beyond = [](const View& view) { return reinterpret_cast<uintptr_t>(view.data) % 16; };
    const bool packed = beyond(scores) % item == 0 && (!other || beyond(*other) == beyond(scores));
    const int64_t width = packed ? static_cast<int64_t>(16 / item) : 1;
    // Many rows fill the device with small blocks, which wait less for one another's threads.
    const int64_t most = scores.sizes[0] < kFewRows ? 1024 : 256;
    threads = static_cast<int>(std::clamp<int64_t>(power_of_two(scores.sizes[1] / (4 * width)), 32, most));
    text = kernel_text("class_entropy.h", "ClassArgs",
                       types + ", " + std::to_string(threads) + ", " + std::to_string(width) + ">", threads);
  }
  void launch_for(const View& scores, ClassArgs& args) const {
    if (scores.sizes[0] > 0) launch(scores.device, text, args, scores.sizes[0], threads);
  }
};
RowKernel entropy_backward(const View& scores, DType loss, const View& out) {
  return {std::string("entropy_backward<") + device_type(scores.dtype) + ", " + device_type(loss), scores, &out};
}

}  // namespace

/// Whoever reads the targets looks itself: a launch less.
void check_classes(const View&, const Classes&) {}

void class_scores(const View& scores, const View& target, const View* weight, const Classes& classes,
                  LossReduction reduction, const View& loss, const View& total) {
  ClassArgs args = args_of(target, weight, classes, reduction);
  args.scores = scores.data;
  args.loss = loss.data;
  args.total = total.data;
  if (needs_backward(scores.device.index, sum_text(scores, loss, false)))
    compile_ahead(scores.device.index, text_of(typed("class_scores_backward", scores.dtype)));
  add_up(scores, loss, args);
}

void class_scores_backward(const View& g, const View& target, const View* weight, const Classes& classes,
                           LossReduction reduction, const View& total, const View& out) {
  ClassArgs args = args_of(target, weight, classes, reduction);
  args.slopes = g.data;
  args.loss = out.data;
  args.total = total.data;
  run(g.device, typed("class_scores_backward", g.dtype), args, blocks_for(args.n, kClassThreads));
}

bool prefers_class_entropy() { return true; }

void class_entropy(const View& scores, const View& target, const View* weight, const Classes& classes,
                   LossReduction reduction, const View& loss, const View& total, const View& sums) {
  ClassArgs args = args_of(target, weight, classes, reduction);
  args.scores = scores.data;
  args.loss = loss.data;
  args.total = total.data;
  args.sums = sums.data;
  const RowKernel rows(std::string("entropy_sums<") + device_type(scores.dtype), scores);
  if (needs_backward(scores.device.index, rows.text))
    compile_ahead(scores.device.index, entropy_backward(scores, loss.dtype, scores).text);  // lies as the scores do
  rows.launch_for(scores, args);
  add_up(scores, loss, args);
}

void class_entropy_backward(const View& g, const View& scores, const View& sums, const View& target, const View* weight,
                            const Classes& classes, LossReduction reduction, const View& total, const View& out) {
  ClassArgs args = args_of(target, weight, classes, reduction);
  args.slopes = g.data;
  args.scores = scores.data;
  args.sums = sums.data;
  args.loss = out.data;
  args.total = total.data;
  entropy_backward(scores, g.dtype, out).launch_for(scores, args);
}

}  // namespace adjoint::cuda
