#include "cuda/softmax.h"

#include <algorithm>
#include <initializer_list>
#include <string>

#include "cuda/launch.h"
#include "cuda/row_shape.h"
#include "cuda/slices.h"
#include "cuda/through_cpu.h"

namespace adjoint::cuda {
namespace {

/// Elements of a row that a block's registers hold.
constexpr int64_t kLongRow = 16 * 1024;

std::string text_of(const std::string& call, int threads) {
  return "#include \"softmax.h\"\nusing namespace adjoint;\nusing namespace "
         "adjoint::cuda;\nADJOINT_KERNEL(SliceArgs, " +
         std::to_string(threads) + ") { " + call + "(args); }\n";
}

/// The most elements that packets of all views can have.
int packet_width(const SliceArgs& args, std::initializer_list<const View*> views) {
  int64_t largest = 1;
  for (const View* view : views) largest = std::max(largest, itemsize(view->dtype));
  const int width = static_cast<int>(16 / largest);
  int v = 0;
  for (const View* view : views)
    if (!has_packets(args, v++, width, itemsize(view->dtype))) return 1;
  return width;
}

/// A kernel, and how many blocks and threads it is for.
struct Choice {
  std::string text;
  int64_t blocks;
  int threads;
};

/// Forward or backward: "softmax" or "softmax_backward", the types of the views in `types`.
Choice choose(const std::string& name, const SliceArgs& args, std::initializer_list<const View*> views, bool log,
              DType compute) {
  const Device device = (*views.begin())->device;
  std::string types = std::string(log ? "<true, " : "<false, ") + device_type(compute);
  for (const View* view : views) types += std::string(", ") + device_type(view->dtype);
  const std::string index = is_wide(args) ? ", int64_t, " : ", uint32_t, ";
  auto number = [](int64_t value) { return std::to_string(value); };
  if (lie_side_by_side(args)) {
    // Many threads a column where there are few columns.
    const int64_t columns = std::min<int64_t>(power_of_two(args.slices), 32);
    const bool few = blocks_for(args.slices, static_cast<int>(columns)) < use(device).multiprocessors * 8;
    const int threads = few && args.n >= 256 ? 1024 : 256;
    return {text_of(name + "_columns" + types + index + number(threads) + ", " + number(columns) + ">", threads),
            blocks_for(args.slices, static_cast<int>(columns)), threads};
  }
  if (args.n > kLongRow) {
    const bool forward = views.size() == 2;
    const std::string call =
        forward ? "softmax_long_rows" + types + ", 1024>" : "softmax_backward_columns" + types + index + "1024, 1>";
    return {text_of(call, 1024), args.slices, 1024};
  }
  const int width = packet_width(args, views);
  const RowShape shape(args.n, width);
  return {text_of(name + "_rows" + types + index + number(shape.threads) + ", " + number(shape.group) + ", " +
                      number(shape.packets) + ", " + number(width) + (width > 1 ? ", true>" : ", false>"),
                  shape.threads),
          blocks_for(args.slices, shape.threads / shape.group), shape.threads};
}

bool is_refused(const View& in, const View& out) { return !is_float(out.dtype) || is_complex(in.dtype); }

template <bool log>
void forward(const View& in, const View& out, int dim) {
  constexpr auto which = log ? &kernels::Softmax::log_softmax : &kernels::Softmax::softmax;
  if (is_refused(in, out)) return (on(DeviceType::Cpu).softmax.*which)(in, out, dim);
  const View* views[] = {&in, &out};
  if (!can_slice(views)) return (through_cpu.softmax.*which)(in, out, dim);
  SliceArgs args = slices_of(views, dim);
  if (args.slices == 0 || args.n == 0) return;
  const Choice chosen = choose("softmax", args, {&in, &out}, log, compute_type(out.dtype));
  if (needs_backward(in.device.index, chosen.text)) {
    const View* back[] = {&out, &out, &in};  // as the gradients will most likely lie
    const SliceArgs its_args = slices_of(back, dim);
    compile_ahead(in.device.index,
                  choose("softmax_backward", its_args, {&out, &out, &in}, log, compute_type(in.dtype)).text);
  }
  launch(in.device, chosen.text, args, chosen.blocks, chosen.threads);
}

template <bool log>
void backward(const View& g, const View& out, const View& gin, int dim) {
  constexpr auto which = log ? &kernels::Softmax::log_softmax_backward : &kernels::Softmax::softmax_backward;
  if (is_refused(g, gin) || is_refused(out, gin)) return (on(DeviceType::Cpu).softmax.*which)(g, out, gin, dim);
  const View* views[] = {&g, &out, &gin};
  if (!can_slice(views)) return (through_cpu.softmax.*which)(g, out, gin, dim);
  SliceArgs args = slices_of(views, dim);
  if (args.slices == 0 || args.n == 0) return;
  const Choice chosen = choose("softmax_backward", args, {&g, &out, &gin}, log, compute_type(gin.dtype));
  launch(g.device, chosen.text, args, chosen.blocks, chosen.threads);
}

}  // namespace

void set_softmax(kernels::Softmax& table) {
  table.softmax = forward<false>;
  table.log_softmax = forward<true>;
  table.softmax_backward = backward<false>;
  table.log_softmax_backward = backward<true>;
}

}  // namespace adjoint::cuda
