// Batch and group norm: a reduction for the statistics or the sums of gradients, then one pass over the elements.
#include <algorithm>
#include <initializer_list>
#include <string>

#include "cuda/allocator.h"
#include "cuda/device/normalize_args.h"
#include "cuda/launch.h"
#include "cuda/normalization.h"
#include "cuda/reduce_plan.h"

namespace adjoint::cuda {
namespace {

using kernels::PlaneShape;

DType compute_in(const View& in) { return in.dtype == DType::Float64 ? DType::Float64 : DType::Float32; }

const char* type_of(const View* view) { return device_type(view ? view->dtype : DType::Float32); }
int64_t step_of(const View* view) { return view && view->ndim > 0 ? view->strides[0] : 1; }
const char* truth(bool value) { return value ? "true" : "false"; }

std::string list(const char* name, std::initializer_list<const char*> arguments) {
  std::string text = name;
  const char* before = "<";
  for (const char* argument : arguments) {
    text += before;
    text += argument;
    before = ", ";
  }
  return text + ">";
}

/// Elements as [planes that share, planes, elements of a plane], of which the second dimension is kept.
struct PlaneView {
  int64_t sizes[3], strides[3], kept_sizes[3], kept_strides[3] = {0, 1, 0};

  PlaneView(int64_t outer, int64_t kept, int64_t inner, bool last)
      : sizes{outer, kept, inner}, strides{kept * inner, inner, 1}, kept_sizes{1, kept, 1} {
    if (!last) return;
    sizes[0] = outer * inner;  // the channels of a place lie side by side
    sizes[2] = 1;
    strides[0] = kept;
    strides[1] = 1;
  }
  View whole(const View& of) const { return {of.data, of.dtype, 3, sizes, strides, of.device}; }
  View kept(const View& of) const { return {of.data, of.dtype, 3, kept_sizes, kept_strides, of.device}; }
};

/// For reductions of which all results go elsewhere: shapes only.
View nowhere(const View& in) { return {nullptr, DType::Float32, 0, nullptr, nullptr, in.device}; }

PlaneArgs plane_args(const PlaneShape& shape, const View& in, const View* weight, const View* bias, const View& out) {
  PlaneArgs args = {};
  args.in = in.data;
  args.out = out.data;
  args.numel = shape.samples * shape.channels * shape.length;
  args.length = shape.channels_last ? 1 : shape.length;
  args.channels = shape.channels;
  args.samples = shape.samples;
  args.groups = shape.groups;
  args.shared = shape.groups ? shape.channels / shape.groups * shape.length : 0;
  args.count = static_cast<double>(shape.groups ? args.shared : shape.samples * shape.length);
  args.mean_step = args.rstd_step = 1;
  args.weight = weight ? weight->data : nullptr;
  args.bias = bias ? bias->data : nullptr;
  args.weight_step = step_of(weight);
  args.bias_step = step_of(bias);
  return args;
}

/// What the pass over the elements has for types.
struct Types {
  DType compute, mean, rstd;
  const View *g, *weight, *bias;
  bool back, fixed;
};

void pass_over(PlaneArgs& args, const PlaneShape& shape, const View& in, const View& out, const Types& types) {
  if (args.numel == 0) return;
  int64_t largest = std::max(itemsize(in.dtype), itemsize(out.dtype));
  auto places = reinterpret_cast<uintptr_t>(args.in) | reinterpret_cast<uintptr_t>(args.out);
  if (types.g) {
    largest = std::max(largest, itemsize(types.g->dtype));
    places |= reinterpret_cast<uintptr_t>(args.g);
  }
  int width = static_cast<int>(16 / largest);
  const bool last = shape.channels_last || shape.length == 1;
  if ((last ? shape.channels : shape.length) % width != 0 || places % 16 != 0) width = 1;
  const std::string call =
      list("normalize_planes",
           {device_type(types.compute), args.numel + kThreads * width >= int64_t{1} << 31 ? "int64_t" : "uint32_t",
            type_of(types.g), device_type(in.dtype), device_type(out.dtype), device_type(types.mean),
            device_type(types.rstd), type_of(types.weight), type_of(types.bias), truth(types.back), truth(types.fixed),
            truth(last), std::to_string(width).c_str()});
  launch(out.device,
         "#include \"normalize_planes.h\"\nusing namespace adjoint;\nusing namespace adjoint::cuda;\n"
         "ADJOINT_KERNEL(PlaneArgs, " +
             std::to_string(kThreads) + ") { " + call + "(args); }\n",
         args, blocks_for((args.numel + width - 1) / width));
}

void plane_norm(const View& in, const PlaneShape& shape, const View* weight, const View* bias, const View* running_mean,
                const View* running_var, double momentum, double eps, const View& out, const View& mean,
                const View& rstd) {
  const int64_t count = shape.groups ? shape.samples * shape.groups : shape.channels;
  const int64_t shared = shape.groups ? shape.channels / shape.groups * shape.length : 0;
  if (count == 0) return;
  const DType compute = compute_in(in);
  const size_t bytes = static_cast<size_t>(count * itemsize(compute) + 15) / 16 * 16;
  const Scratch statistics(2 * bytes, in.device);
  const PlaneView planes = shape.groups ? PlaneView(1, count, shared, false)
                                        : PlaneView(shape.samples, shape.channels, shape.length, shape.channels_last);
  const View source = planes.whole(in), means = planes.kept(mean), rstds = planes.kept(rstd);
  Reduction reduction{
      .op = list("PlaneStatistics", {device_type(in.dtype), device_type(compute), device_type(mean.dtype),
                                     device_type(rstd.dtype), type_of(running_mean), type_of(running_var)}),
      .header = "normalize_planes.h",
      .in = &source,
      .outs = {&means, &rstds}};
  ReduceArgs& sums = reduction.args;
  sums.taken[0] = statistics.data();
  sums.taken[1] = statistics.data() + bytes;
  sums.taken[2] = running_mean ? running_mean->data : nullptr;
  sums.taken[3] = running_var ? running_var->data : nullptr;
  sums.taken_steps[2] = step_of(running_mean);
  sums.taken_steps[3] = step_of(running_var);
  sums.numbers[0] = eps;
  sums.numbers[1] = momentum;
  launch_reduction(reduction);
  PlaneArgs args = plane_args(shape, in, weight, bias, out);
  args.mean = statistics.data();
  args.rstd = statistics.data() + bytes;
  pass_over(args, shape, in, out, {compute, compute, compute, nullptr, weight, bias, false, false});
}

/// The sums of gradients over planes: `alone`, of a channel each, with the gradients of the parameters.
void plane_products(const View& g, const View& in, const PlaneShape& shape, const View& mean, const View& rstd,
                    const View* weight, const View* gweight, const View* gbias, bool fixed, double eps, char* sums,
                    char* products) {
  const bool alone = shape.groups == 0;
  const PlaneView planes = alone ? PlaneView(shape.samples, shape.channels, shape.length, shape.channels_last)
                                 : PlaneView(1, shape.samples * shape.channels, shape.length, false);
  const View source = planes.whole(in);
  // Where none is wanted, the outputs say the shape only, and are null.
  const View weights = planes.kept(alone && gweight ? *gweight : nowhere(in));
  const View biases = planes.kept(alone && gbias ? *gbias : nowhere(in));
  Reduction reduction{
      .op = list("PlaneProducts", {device_type(g.dtype), device_type(in.dtype), device_type(compute_in(in)),
                                   device_type(mean.dtype), device_type(rstd.dtype), type_of(weight),
                                   device_type(weights.dtype), device_type(biases.dtype), truth(alone), truth(fixed)}),
      .header = "normalize_planes.h",
      .in = &source,
      .outs = {&weights, &biases},
      .unit = itemsize(g.dtype)};
  ReduceArgs& args = reduction.args;
  args.in[1] = g.data;
  args.given[0] = mean.data;
  args.given[1] = rstd.data;
  args.given[2] = weight ? weight->data : nullptr;
  // Those of groups are a matrix, in one piece.
  args.given_steps[0] = mean.ndim == 1 ? step_of(&mean) : 1;
  args.given_steps[1] = rstd.ndim == 1 ? step_of(&rstd) : 1;
  args.given_steps[2] = step_of(weight);
  args.channels_each = alone ? 1 : shape.channels / shape.groups;
  args.numbers[0] = eps;
  args.taken[0] = sums;
  args.taken[1] = products;
  launch_reduction(reduction);
}

void plane_norm_backward(const View& g, const View& in, const PlaneShape& shape, const View& mean, const View& rstd,
                         const View* weight, const View* gin, const View* gweight, const View* gbias) {
  const int64_t planes = shape.groups ? shape.samples * shape.channels : shape.channels;
  if (shape.channels == 0) return;
  const DType compute = compute_in(in);
  const size_t bytes = static_cast<size_t>(std::max<int64_t>(planes, 1) * itemsize(compute) + 15) / 16 * 16;
  const Scratch scratch(4 * bytes, in.device);
  char *sums = scratch.data(), *products = sums + bytes;
  if (planes > 0) plane_products(g, in, shape, mean, rstd, weight, gweight, gbias, false, 0, sums, products);
  PlaneArgs args = plane_args(shape, in, weight, nullptr, gin ? *gin : in);
  args.g = g.data;
  args.mean = mean.data;
  args.rstd = rstd.data;
  args.averages = sums;
  args.products = products;
  if (shape.groups) {
    args.plane_sums = sums;
    args.plane_products = products;
    args.averages = args.group_averages = products + bytes;
    args.products = args.group_products = products + 2 * bytes;
    args.gweight = gweight ? gweight->data : nullptr;
    args.gbias = gbias ? gbias->data : nullptr;
    launch(in.device,
           "#include \"normalize_planes.h\"\nusing namespace adjoint;\nusing namespace adjoint::cuda;\n"
           "ADJOINT_KERNEL(PlaneArgs, " +
               std::to_string(kThreads) + ") { " +
               list("group_sums", {device_type(compute), device_type(rstd.dtype), type_of(weight), type_of(gweight),
                                   type_of(gbias)}) +
               "(args); }\n",
           args, blocks_for(shape.samples * shape.groups + shape.channels));
  }
  if (gin) pass_over(args, shape, in, *gin, {compute, mean.dtype, rstd.dtype, &g, weight, nullptr, true, false});
}

void plane_norm_fixed(const View& in, const PlaneShape& shape, const View* weight, const View* bias, const View& mean,
                      const View& var, double eps, const View& out) {
  PlaneArgs args = plane_args(shape, in, weight, bias, out);
  args.mean = mean.data;
  args.rstd = var.data;
  args.mean_step = step_of(&mean);
  args.rstd_step = step_of(&var);
  args.eps = eps;
  pass_over(args, shape, in, out, {compute_in(in), mean.dtype, var.dtype, nullptr, weight, bias, false, true});
}

void plane_norm_fixed_backward(const View& g, const View& in, const PlaneShape& shape, const View* weight,
                               const View& mean, const View& var, double eps, const View& gin, const View& gweight,
                               const View& gbias) {
  if (shape.channels == 0) return;
  plane_products(g, in, shape, mean, var, weight, &gweight, &gbias, true, eps, nullptr, nullptr);
  PlaneArgs args = plane_args(shape, in, weight, nullptr, gin);
  args.g = g.data;
  args.rstd = var.data;
  args.rstd_step = step_of(&var);
  args.eps = eps;
  pass_over(args, shape, in, gin, {compute_in(in), mean.dtype, var.dtype, &g, weight, nullptr, true, true});
}

}  // namespace

void set_normalization(kernels::Normalization& table) {
  table.layer_norm = layer_norm;
  table.layer_norm_backward = layer_norm_backward;
  table.plane_norm = plane_norm;
  table.plane_norm_backward = plane_norm_backward;
  table.plane_norm_fixed = plane_norm_fixed;
  table.plane_norm_fixed_backward = plane_norm_fixed_backward;
}

}  // namespace adjoint::cuda
