#include "ops/normalization_planes.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/lock.h"
#include "core/memory_format.h"
#include "cpu/normalize_planes.h"
#include "ops/memory.h"

namespace adjoint::ops {
namespace {

using cpu::Planes;
using Doubles = std::vector<double>;

/// The elements of a tensor as doubles, or as many times `otherwise` if there is none.
Doubles doubles(const char* name, std::optional<Tensor*> tensor, int64_t count, double otherwise = 0) {
  if (!tensor) return Doubles(static_cast<size_t>(count), otherwise);
  if (!is_float((*tensor)->dtype)) fail_not_implemented("batch_norm", (*tensor)->dtype);
  if ((*tensor)->numel() != count) fail(name, " should contain ", count, " elements not ", (*tensor)->numel());
  TensorPtr dense = contiguous(cast(*tensor, DType::Float64).get());
  return Doubles(dense->as<double>(), dense->as<double>() + count);
}

void store(const Doubles& values, Tensor* tensor) {
  dispatch(tensor->dtype, [&](auto tag) {
    using T = decltype(tag);
    std::transform(values.begin(), values.end(), tensor->as<T>(), [](double value) { return convert<T>(value); });
  });
}

/// running = (1 - momentum) running + momentum value. As in torch, this does not count as a change in place.
void move_towards(Tensor* running, const Doubles& values, double momentum) {
  dispatch(running->dtype, [&](auto tag) {
    using T = decltype(tag);
    T* target = running->as<T>();
    for (double value : values) {
      *target = convert<T>((1 - momentum) * convert<double>(*target) + momentum * value);
      target += running->stride(0);
    }
  });
}

/// The sizes of an input, and how its planes share statistics and parameters.
struct Layout {
  int64_t samples, channels, length = 1, groups;
  bool by_batch;
  MemoryFormat format;  ///< of the result

  Layout(const Tensor* input, int64_t groups)
      : groups(groups), by_batch(groups == 0), format(suggested_format(input->shape)) {
    if (input->ndim() < 2)
      fail("Expected at least 2 dimensions for input tensor but received ", input->ndim(), "; add a batch dimension");
    if (!is_float(input->dtype)) fail_not_implemented(by_batch ? "batch_norm" : "GroupNormKernelImpl", input->dtype);
    samples = input->size(0);
    channels = input->size(1);
    for (int d = 2; d < input->ndim(); ++d) length *= input->size(d);
    if (groups < 0 || (groups > 0 && channels % groups != 0))
      fail("Expected number of channels in input to be divisible by num_groups, but got input of shape ",
           to_string(input->sizes()), " and num_groups=", groups);
  }
  /// A batch that lies in both formats is normalised to a contiguous one; gradients keep to the strides, as in torch.
  static Layout of_forward(const Tensor* input, int64_t groups) {
    Layout layout(input, groups);
    if (layout.by_batch && input->contiguous()) layout.format = MemoryFormat::Contiguous;
    return layout;
  }
  /// Where the statistics are those of channels, data with the channels last is read as it lies: planes of one element.
  bool in_rows() const { return by_batch && format != MemoryFormat::Contiguous; }
  /// The tensor as the planes are read.
  TensorPtr dense(Tensor* tensor) const { return in_rows() ? dense_in(tensor, format) : contiguous(tensor); }
  /// A result to be written so, which finished() brings into the input's format.
  TensorPtr result(const Tensor* input) const {
    return empty(shape_in_format(input->sizes(), in_rows() ? format : MemoryFormat::Contiguous), input->dtype);
  }
  TensorPtr finished(TensorPtr result) const { return in_rows() ? result : in_format(std::move(result), format); }
  int64_t statistics() const { return by_batch ? channels : samples * groups; }
  /// Elements that share their statistics.
  int64_t shared() const { return by_batch ? samples * length : channels / groups * length; }
  /// Planes of which each belongs to one channel.
  Planes planes() const {
    if (in_rows()) return {samples * channels * length, channels, 1};
    return {samples * channels, by_batch ? channels : samples * channels, length};
  }
  /// Which statistic and which channel plane p has, counted within the period.
  int64_t statistic(int64_t p) const {
    return by_batch ? p : p / channels * groups + p % channels / (channels / groups);
  }
  int64_t channel(int64_t p) const { return by_batch ? p : p % channels; }
};

/// The gradient, which must fit the input.
Tensor* fitting(Tensor* grad, const Tensor* input) {
  if (!same_sizes(grad->shape, input->shape))
    fail("batch_norm: expected the gradient to have the input's shape ", to_string(input->sizes()), "; got ",
         to_string(grad->sizes()));
  return grad;
}

/// Scales each plane by its statistics and parameters.
TensorPtr scaled(const Layout& layout, Tensor* input, const Doubles& mean, const Doubles& rstd, const Doubles& weight,
                 const Doubles& bias) {
  Planes planes = layout.planes();
  auto period = static_cast<size_t>(planes.period);
  Doubles center(period), factor(period), term(period);
  for (int64_t p = 0; p < planes.period; ++p) {
    center[p] = mean[layout.statistic(p)];
    factor[p] = rstd[layout.statistic(p)] * weight[layout.channel(p)];
    term[p] = bias[layout.channel(p)];
  }
  TensorPtr result = layout.result(input), source = layout.dense(input);
  {
    WithoutLock unlocked(input->numel());
    cpu::plane_scale(source->view(), planes, center.data(), factor.data(), term.data(), result->view());
  }
  return layout.finished(std::move(result));
}

}  // namespace

std::tuple<TensorPtr, TensorPtr, TensorPtr> plane_norm(Tensor* input, std::optional<Tensor*> weight,
                                                       std::optional<Tensor*> bias, std::optional<Tensor*> running_mean,
                                                       std::optional<Tensor*> running_var, int64_t groups,
                                                       double momentum, double eps) {
  Layout layout = Layout::of_forward(input, groups);
  Doubles w = doubles("weight", weight, layout.channels, 1), b = doubles("bias", bias, layout.channels);
  for (auto [name, running] : {std::pair("running_mean", running_mean), std::pair("running_var", running_var)})
    if (running && ((*running)->ndim() != 1 || (*running)->numel() != layout.channels || !layout.by_batch))
      fail(name, " should contain ", layout.channels, " elements not ", (*running)->numel());
  auto count = static_cast<size_t>(layout.statistics());
  Doubles mean(count), rstd(count), var(count);
  if (layout.shared() > 0 && count > 0) {
    // Groups lie together in memory, so their planes are whole groups.
    Planes planes =
        layout.by_batch ? layout.planes() : Planes{layout.statistics(), layout.statistics(), layout.shared()};
    TensorPtr source = layout.dense(input);
    WithoutLock unlocked(input->numel());
    cpu::plane_moments(source->view(), planes, mean.data(), var.data());
  }
  double shared = static_cast<double>(layout.shared());
  for (size_t i = 0; i < count; ++i) rstd[i] = shared > 0 ? 1 / std::sqrt(var[i] / shared + eps) : NAN;
  TensorPtr result = scaled(layout, input, mean, rstd, w, b);
  if (running_mean) move_towards(*running_mean, mean, momentum);
  if (running_var) {
    for (double& value : var) value /= shared - 1;
    move_towards(*running_var, var, momentum);
  }
  const int64_t grouped[] = {layout.samples, layout.groups};
  Sizes sizes = layout.by_batch ? Sizes(&layout.channels, 1) : Sizes(grouped, 2);
  DType statistic = itemsize(input->dtype) == 2 ? DType::Float32 : input->dtype;
  TensorPtr means = empty(sizes, statistic), rstds = empty(sizes, statistic);
  store(mean, means.get());
  store(rstd, rstds.get());
  return {std::move(result), std::move(means), std::move(rstds)};
}

namespace {

/// What the gradients are made of: sums over each plane of g and of g (x - mean).
struct Backward {
  Layout layout;
  TensorPtr g, input;
  Doubles mean, rstd, weight, center, sums, products;

  Backward(Tensor* grad, Tensor* given, Doubles mean, Doubles rstd, Doubles weight, int64_t groups)
      : layout(given, groups),
        g(layout.dense(fitting(grad, given))),
        input(layout.dense(given)),
        mean(std::move(mean)),
        rstd(std::move(rstd)),
        weight(std::move(weight)),
        center(static_cast<size_t>(layout.planes().period)),
        sums(center.size()),
        products(center.size()) {
    for (int64_t p = 0; p < layout.planes().period; ++p) center[p] = this->mean[layout.statistic(p)];
    if (input->numel() == 0) return;
    WithoutLock unlocked(input->numel());
    cpu::plane_products(g->view(), input->view(), layout.planes(), center.data(), sums.data(), products.data());
  }

  /// With n = (x - mean) rstd and b = g weight: rstd (b - mean(b) - n mean(b n)).
  TensorPtr input_grad() const {
    TensorPtr result = layout.result(input.get());
    if (input->numel() == 0) return result;
    Planes planes = layout.planes();
    Doubles average(mean.size()), product(mean.size()), factor(center.size()), slope(center.size()),
        term(center.size());
    for (int64_t p = 0; p < planes.period; ++p) {
      average[layout.statistic(p)] += sums[p] * weight[layout.channel(p)];
      product[layout.statistic(p)] += products[p] * weight[layout.channel(p)];
    }
    double shared = static_cast<double>(layout.shared());
    for (int64_t p = 0; p < planes.period; ++p) {
      int64_t s = layout.statistic(p);
      factor[p] = rstd[s] * weight[layout.channel(p)];
      slope[p] = -rstd[s] * rstd[s] * rstd[s] * product[s] / shared;
      term[p] = -rstd[s] * average[s] / shared;
    }
    {
      WithoutLock unlocked(input->numel());
      cpu::plane_scale_sum(g->view(), input->view(), planes, center.data(), factor.data(), slope.data(), term.data(),
                           result->view());
    }
    return layout.finished(std::move(result));
  }

  TensorPtr weight_grad(DType dtype) const {
    Doubles total(static_cast<size_t>(layout.channels));
    for (int64_t p = 0; p < layout.planes().period; ++p)
      total[layout.channel(p)] += products[p] * rstd[layout.statistic(p)];
    return by_channel(total, dtype);
  }

  TensorPtr bias_grad(DType dtype) const {
    Doubles total(static_cast<size_t>(layout.channels));
    for (int64_t p = 0; p < layout.planes().period; ++p) total[layout.channel(p)] += sums[p];
    return by_channel(total, dtype);
  }

 private:
  TensorPtr by_channel(const Doubles& values, DType dtype) const {
    TensorPtr result = empty(Sizes(&layout.channels, 1), dtype);
    store(values, result.get());
    return result;
  }
};

Backward backward(Tensor* grad, Tensor* input, Tensor* mean, Tensor* rstd, std::optional<Tensor*> weight,
                  int64_t groups) {
  Layout layout(input, groups);
  return Backward(grad, input, doubles("mean", mean, layout.statistics()), doubles("rstd", rstd, layout.statistics()),
                  doubles("weight", weight, layout.channels, 1), groups);
}

}  // namespace

TensorPtr plane_norm_input_grad(Tensor* grad, Tensor* input, Tensor* mean, Tensor* rstd, std::optional<Tensor*> weight,
                                int64_t groups, double) {
  return backward(grad, input, mean, rstd, weight, groups).input_grad();
}

TensorPtr plane_norm_weight_grad(Tensor* grad, Tensor* input, Tensor* mean, Tensor* rstd, int64_t groups, double) {
  return backward(grad, input, mean, rstd, std::nullopt, groups).weight_grad(grad->dtype);
}

std::tuple<TensorPtr, TensorPtr, TensorPtr> plane_norm_gradients(Tensor* grad, Tensor* input, Tensor* mean,
                                                                 Tensor* rstd, std::optional<Tensor*> weight,
                                                                 int64_t groups) {
  Backward all = backward(grad, input, mean, rstd, weight, groups);
  DType dtype = weight ? (*weight)->dtype : grad->dtype;
  return {all.input_grad(), all.weight_grad(dtype), all.bias_grad(dtype)};
}

std::tuple<TensorPtr, TensorPtr, TensorPtr> plane_norm_fixed_gradients(Tensor* grad, Tensor* input,
                                                                       std::optional<Tensor*> weight, Tensor* mean,
                                                                       Tensor* var, double eps) {
  int64_t channels = Layout(input, 0).channels;
  Doubles r = doubles("running_var", var, channels);
  for (double& value : r) value = 1 / std::sqrt(value + eps);
  Backward all(grad, input, doubles("running_mean", mean, channels), std::move(r),
               doubles("weight", weight, channels, 1), 0);
  DType dtype = weight ? (*weight)->dtype : grad->dtype;
  Doubles none(all.center.size());
  TensorPtr first = scaled(all.layout, all.g.get(), none, all.rstd, all.weight, none);
  return {std::move(first), all.weight_grad(dtype), all.bias_grad(dtype)};
}

TensorPtr plane_norm_fixed(Tensor* input, std::optional<Tensor*> weight, std::optional<Tensor*> bias, Tensor* mean,
                           Tensor* var, double eps) {
  Layout layout = Layout::of_forward(input, 0);
  Doubles m = doubles("running_mean", mean, layout.channels), r = doubles("running_var", var, layout.channels),
          w = doubles("weight", weight, layout.channels, 1), b = doubles("bias", bias, layout.channels);
  for (double& value : r) value = 1 / std::sqrt(value + eps);
  return scaled(layout, input, m, r, w, b);
}

}  // namespace adjoint::ops
