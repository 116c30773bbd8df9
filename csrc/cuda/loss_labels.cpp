#include "cuda/loss_labels.h"

#include "cuda/device/loss_labels_args.h"
#include "cuda/faults.h"
#include "cuda/launch.h"
#include "cuda/memory.h"
#include "cuda/walk.h"

namespace adjoint::cuda {
namespace {

/// Rows of few classes are for a warp.
void run(const char* name, const View& scores, LabelArgs& args) {
  const int threads = args.classes <= 64 ? 32 : kThreads;
  const std::string call = std::string(name) + "<" + device_type(scores.dtype) + ", " + std::to_string(threads) + ">";
  launch(scores.device, kernel_text("loss_labels.h", "LabelArgs", call, threads), args, scores.sizes[0], threads);
}

}  // namespace

bool any_out_of_range(const View&) { return false; }

void multilabel_margin(const View& scores, const View& labels, const View& losses, const View& is_label) {
  LabelArgs args{scores.data, nullptr,         labels.as<const int64_t>(),       is_label.as<uint8_t>(),
                 losses.data, scores.sizes[1], fault_record(scores.device.index)};
  run("multilabel_margin", scores, args);
}

void multilabel_margin_backward(const View& grad, const View& scores, const View& labels, const View& is_label,
                                const View& out) {
  LabelArgs args{scores.data, grad.data,       labels.as<const int64_t>(),       is_label.as<uint8_t>(),
                 out.data,    scores.sizes[1], fault_record(scores.device.index)};
  run("multilabel_margin_backward", scores, args);
}

}  // namespace adjoint::cuda
