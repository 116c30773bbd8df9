#include "cuda/ctc.h"

#include <algorithm>

#include "cuda/allocator.h"
#include "cuda/device/ctc_args.h"
#include "cuda/faults.h"
#include "cuda/launch.h"
#include "cuda/walk.h"

namespace adjoint::cuda {
namespace {

using kernels::CtcShape;

/// Two rows of states in the memory of a block, which every device has.
constexpr int64_t kNearBytes = 48 * 1024;
constexpr int kClassThreads = 128, kMostThreads = 512;

/// The numbers of all sequences, on the device.
class Lists {
 public:
  Lists(const CtcShape& shape, Device device)
      : batch_(shape.batch), memory_(static_cast<size_t>(3 * shape.batch) * 8, device) {
    int64_t place = 0;
    for (const int64_t* list : {shape.lengths, shape.label_counts, shape.label_starts})
      for (int64_t i = 0; i < batch_; ++i) add(list[i], place, device);
    if (part_.count > 0) send(device);
  }
  void set(CtcArgs& args) const {
    args.lengths = data();
    args.label_counts = data() + batch_;
    args.label_starts = data() + 2 * batch_;
  }

 private:
  int64_t* data() const { return reinterpret_cast<int64_t*>(memory_.data()); }
  void add(int64_t value, int64_t& place, Device device) {
    if (part_.count == 0) part_.to = data() + place;
    part_.values[part_.count++] = value;
    ++place;
    if (part_.count == kListNumbers) send(device);
  }
  void send(Device device) {
    launch(device, kernel_text("ctc.h", "ListArgs", "write_list"), part_, 1);
    part_.count = 0;
  }

  int64_t batch_;
  Scratch memory_;
  ListArgs part_{};
};

CtcArgs args_of(const CtcShape& shape, const Lists& lists, const View& scores, const View& labels, const View& alpha,
                const View& out) {
  CtcArgs args{};
  args.scores = scores.data;
  args.labels = labels.as<const int64_t>();
  args.alpha = alpha.data;
  args.out = out.data;
  args.times = shape.times;
  args.batch = shape.batch;
  args.classes = shape.classes;
  args.blank = shape.blank;
  args.states = shape.states;
  args.label_count = shape.states / 2;
  args.fault = fault_record(scores.device.index);
  lists.set(args);
  return args;
}

/// A block for each sequence, with threads for its states.
void run_through_time(const char* name, const View& scores, CtcArgs& args) {
  const int threads = static_cast<int>(std::clamp<int64_t>((args.states + 31) / 32 * 32, 32, kMostThreads));
  const int64_t bytes = 2 * args.states * itemsize(scores.dtype);
  const bool near = bytes <= kNearBytes;
  const std::string call = std::string(name) + "<" + device_type(scores.dtype) + (near ? ", true>" : ", false>");
  launch(scores.device, kernel_text("ctc.h", "CtcArgs", call, kMostThreads), args, args.batch, threads, 1,
         near ? static_cast<size_t>(bytes) : 0);
}

}  // namespace

std::optional<kernels::Ctc::Label> wrong_ctc_label(const CtcShape&, const View&) { return std::nullopt; }

void ctc_loss(const CtcShape& shape, const View& scores, const View& labels, const View& losses, const View& alpha) {
  if (shape.batch == 0) return;
  const Lists lists(shape, scores.device);
  CtcArgs args = args_of(shape, lists, scores, labels, alpha, losses);
  run_through_time("ctc_forward", scores, args);
}

void ctc_loss_backward(const CtcShape& shape, const View& grad, const View& scores, const View& labels,
                       const View& losses, const View& alpha, bool zero_infinity, const View& out) {
  if (out.numel() == 0) return;
  const Device device = scores.device;
  const Lists lists(shape, device);
  CtcArgs args = args_of(shape, lists, scores, labels, alpha, out);
  const int64_t places = args.batch * args.label_count;
  const Scratch beta(static_cast<size_t>(alpha.numel() * itemsize(alpha.dtype)), device);
  const Scratch links(static_cast<size_t>(2 * places) * sizeof(int32_t), device);
  args.grad = grad.data;
  args.losses = losses.data;
  args.zero_infinity = zero_infinity;
  args.beta = beta.data();
  args.next = reinterpret_cast<int32_t*>(links.data());
  args.first = args.next + places;
  run_through_time("ctc_backward", scores, args);
  launch(device, kernel_text("ctc.h", "CtcArgs", "link_labels"), args, blocks_for(places));
  const std::string call =
      std::string("ctc_classes<") + device_type(scores.dtype) + ", " + std::to_string(kClassThreads) + ">";
  launch(device, kernel_text("ctc.h", "CtcArgs", call, kClassThreads), args, args.times * args.batch, kClassThreads);
}

}  // namespace adjoint::cuda
