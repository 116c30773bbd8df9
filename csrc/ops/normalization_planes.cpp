#include "ops/normalization_planes.h"

#include "core/lock.h"
#include "core/memory_format.h"
#include "kernels/backend.h"
#include "ops/memory.h"

namespace adjoint::ops {
namespace {

[[noreturn]] void fail_count(const char* name, int64_t channels, const Tensor& given) {
  fail(name, " should contain ", channels, " elements not ", given.numel(), "; the input has ", channels,
       " channels (its dimension 1), and the layer was made for ", given.numel());
}

/// An optional tensor as an optional view, of an element for each channel.
class Optional {
 public:
  Optional(const char* name, std::optional<Tensor*> tensor, int64_t count) : there_(tensor) {
    if (!tensor) return;
    if (!is_float((*tensor)->dtype)) fail_not_implemented("batch_norm", (*tensor)->dtype);
    if ((*tensor)->numel() != count) fail_count(name, count, **tensor);
    view_ = (*tensor)->view();
  }
  const View* get() const { return there_ ? &view_ : nullptr; }
  const View& operator*() const { return view_; }

 private:
  bool there_;
  View view_;
};

/// The sizes of an input, and the format of a result.
struct Layout {
  kernels::PlaneShape shape;
  MemoryFormat format;

  Layout(const Tensor* input, int64_t groups) : shape{.groups = groups}, format(suggested_format(input->shape)) {
    if (input->ndim() < 2)
      fail("Expected at least 2 dimensions for input tensor but received ", input->ndim(), "; add a batch dimension");
    if (!is_float(input->dtype)) fail_not_implemented(by_batch() ? "batch_norm" : "GroupNormKernelImpl", input->dtype);
    shape.samples = input->size(0);
    shape.channels = input->size(1);
    for (int d = 2; d < input->ndim(); ++d) shape.length *= input->size(d);
    if (groups < 0 || (groups > 0 && channels() % groups != 0))
      fail("Expected number of channels in input to be divisible by num_groups, but got input of shape ",
           to_string(input->sizes()), " and num_groups=", groups);
    set_order();
  }
  /// A batch that lies in both formats is normalised to a contiguous one; gradients keep to the strides, as in torch.
  static Layout of_forward(const Tensor* input, int64_t groups) {
    Layout layout(input, groups);
    if (layout.by_batch() && input->contiguous()) layout.format = MemoryFormat::Contiguous;
    layout.set_order();
    return layout;
  }
  bool by_batch() const { return shape.groups == 0; }
  int64_t channels() const { return shape.channels; }
  int64_t statistics() const { return by_batch() ? channels() : shape.samples * shape.groups; }
  /// The tensor as the planes are read.
  TensorPtr dense(Tensor* tensor) const { return shape.channels_last ? dense_in(tensor, format) : contiguous(tensor); }
  /// A result to be written so, which finished() brings into the input's format.
  TensorPtr result(const Tensor* input) const {
    return empty(shape_in_format(input->sizes(), shape.channels_last ? format : MemoryFormat::Contiguous), input->dtype,
                 input->device);
  }
  TensorPtr finished(TensorPtr result) const {
    return shape.channels_last ? result : in_format(std::move(result), format);
  }

 private:
  /// Where the statistics are those of channels, data with the channels last is read as it lies.
  void set_order() { shape.channels_last = by_batch() && format != MemoryFormat::Contiguous; }
};

/// The gradient, which must fit the input.
Tensor* fitting(Tensor* grad, const Tensor* input) {
  if (!same_sizes(grad->shape, input->shape))
    fail("batch_norm: expected the gradient to have the input's shape ", to_string(input->sizes()), "; got ",
         to_string(grad->sizes()));
  return grad;
}

TensorPtr by_channel(const Layout& layout, DType dtype, Device device) {
  return empty(Sizes(&layout.shape.channels, 1), dtype, device);
}

}  // namespace

std::tuple<TensorPtr, TensorPtr, TensorPtr> plane_norm(Tensor* input, std::optional<Tensor*> weight,
                                                       std::optional<Tensor*> bias, std::optional<Tensor*> running_mean,
                                                       std::optional<Tensor*> running_var, int64_t groups,
                                                       double momentum, double eps) {
  Layout layout = Layout::of_forward(input, groups);
  Optional w("weight", weight, layout.channels()), b("bias", bias, layout.channels());
  for (auto [name, running] : {std::pair("running_mean", running_mean), std::pair("running_var", running_var)})
    if (running && ((*running)->ndim() != 1 || (*running)->numel() != layout.channels() || !layout.by_batch()))
      fail_count(name, layout.channels(), **running);
  View moving_mean, moving_var;
  if (running_mean) moving_mean = (*running_mean)->view();
  if (running_var) moving_var = (*running_var)->view();
  const int64_t grouped[] = {layout.shape.samples, groups};
  Sizes sizes = layout.by_batch() ? Sizes(&layout.shape.channels, 1) : Sizes(grouped, 2);
  DType statistic = itemsize(input->dtype) == 2 ? DType::Float32 : input->dtype;
  TensorPtr source = layout.dense(input), result = layout.result(input);
  TensorPtr mean = empty(sizes, statistic, input->device), rstd = empty(sizes, statistic, input->device);
  {
    // As in torch, this does not count as a change of the running statistics in place.
    WithoutLock unlocked(input->numel());
    on(input->device)
        .normalization.plane_norm(source->view(), layout.shape, w.get(), b.get(), running_mean ? &moving_mean : nullptr,
                                  running_var ? &moving_var : nullptr, momentum, eps, result->view(), mean->view(),
                                  rstd->view());
  }
  return {layout.finished(std::move(result)), std::move(mean), std::move(rstd)};
}

namespace {

/// What the gradients are computed from.
struct Backward {
  Layout layout;
  TensorPtr g, input, means, rstds;
  Optional mean, rstd, weight;

  Backward(Tensor* grad, Tensor* given, Tensor* its_mean, Tensor* its_rstd, std::optional<Tensor*> weight,
           int64_t groups)
      : layout(given, groups),
        g(layout.dense(fitting(grad, given))),
        input(layout.dense(given)),
        means(contiguous(its_mean)),
        rstds(contiguous(its_rstd)),
        mean("mean", means.get(), layout.statistics()),
        rstd("rstd", rstds.get(), layout.statistics()),
        weight("weight", weight, layout.channels()) {}

  /// Computes the gradients whose results are given.
  void run(const TensorPtr& gin, const TensorPtr& gweight, const TensorPtr& gbias) const {
    View views[3];
    const TensorPtr* results[] = {&gin, &gweight, &gbias};
    const View* wanted[3] = {};
    for (int i = 0; i < 3; ++i) {
      if (!*results[i]) continue;
      views[i] = (*results[i])->view();
      wanted[i] = &views[i];
    }
    WithoutLock unlocked(input->numel());
    on(input->device)
        .normalization.plane_norm_backward(g->view(), input->view(), layout.shape, *mean, *rstd, weight.get(),
                                           wanted[0], wanted[1], wanted[2]);
  }
  TensorPtr finished(TensorPtr gin) const { return gin->numel() == 0 ? gin : layout.finished(std::move(gin)); }
};

}  // namespace

TensorPtr plane_norm_input_grad(Tensor* grad, Tensor* input, Tensor* mean, Tensor* rstd, std::optional<Tensor*> weight,
                                int64_t groups, double) {
  Backward backward(grad, input, mean, rstd, weight, groups);
  TensorPtr result = backward.layout.result(input);
  backward.run(result, {}, {});
  return backward.finished(std::move(result));
}

TensorPtr plane_norm_weight_grad(Tensor* grad, Tensor* input, Tensor* mean, Tensor* rstd, int64_t groups, double) {
  Backward backward(grad, input, mean, rstd, std::nullopt, groups);
  TensorPtr result = by_channel(backward.layout, grad->dtype, input->device);
  backward.run({}, result, {});
  return result;
}

std::tuple<TensorPtr, TensorPtr, TensorPtr> plane_norm_gradients(Tensor* grad, Tensor* input, Tensor* mean,
                                                                 Tensor* rstd, std::optional<Tensor*> weight,
                                                                 int64_t groups) {
  Backward backward(grad, input, mean, rstd, weight, groups);
  DType dtype = weight ? (*weight)->dtype : grad->dtype;
  TensorPtr first = backward.layout.result(input), second = by_channel(backward.layout, dtype, input->device),
            third = by_channel(backward.layout, dtype, input->device);
  backward.run(first, second, third);
  return {backward.finished(std::move(first)), std::move(second), std::move(third)};
}

std::tuple<TensorPtr, TensorPtr, TensorPtr> plane_norm_fixed_gradients(Tensor* grad, Tensor* input,
                                                                       std::optional<Tensor*> weight, Tensor* mean,
                                                                       Tensor* var, double eps) {
  Layout layout(input, 0);
  Optional m("running_mean", mean, layout.channels()), v("running_var", var, layout.channels()),
      w("weight", weight, layout.channels());
  TensorPtr g = layout.dense(fitting(grad, input)), source = layout.dense(input);
  DType dtype = weight ? (*weight)->dtype : grad->dtype;
  TensorPtr first = layout.result(grad), second = by_channel(layout, dtype, input->device),
            third = by_channel(layout, dtype, input->device);
  {
    WithoutLock unlocked(input->numel());
    on(input->device)
        .normalization.plane_norm_fixed_backward(g->view(), source->view(), layout.shape, w.get(), *m, *v, eps,
                                                 first->view(), second->view(), third->view());
  }
  return {layout.finished(std::move(first)), std::move(second), std::move(third)};
}

TensorPtr plane_norm_fixed(Tensor* input, std::optional<Tensor*> weight, std::optional<Tensor*> bias, Tensor* mean,
                           Tensor* var, double eps) {
  Layout layout = Layout::of_forward(input, 0);
  Optional m("running_mean", mean, layout.channels()), v("running_var", var, layout.channels()),
      w("weight", weight, layout.channels()), b("bias", bias, layout.channels());
  TensorPtr source = layout.dense(input), result = layout.result(input);
  {
    WithoutLock unlocked(input->numel());
    on(input->device)
        .normalization.plane_norm_fixed(source->view(), layout.shape, w.get(), b.get(), *m, *v, eps, result->view());
  }
  return layout.finished(std::move(result));
}

}  // namespace adjoint::ops
