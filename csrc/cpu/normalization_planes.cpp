// Batch and group norm: what belongs to a channel or to a group in double, the elements by the loops over planes.
#include <algorithm>
#include <cmath>
#include <vector>

#include "cpu/copy.h"
#include "cpu/normalization.h"
#include "cpu/normalize_planes.h"

namespace adjoint::cpu {
namespace {

using kernels::PlaneShape;
using Doubles = std::vector<double>;

/// The elements of a view, or as many times `otherwise` if there is none.
Doubles doubles(const View* view, int64_t count, double otherwise = 0) {
  Doubles values(static_cast<size_t>(count), otherwise);
  if (view == nullptr) return values;
  int64_t strides[kMaxDims], stride = 1;
  for (int d = view->ndim; d-- > 0; stride *= view->sizes[d]) strides[d] = stride;
  copy(*view, {reinterpret_cast<char*>(values.data()), DType::Float64, view->ndim, view->sizes, strides});
  return values;
}

void store(const Doubles& values, const View& view) {
  dispatch(view.dtype, [&](auto tag) {
    using T = decltype(tag);
    std::transform(values.begin(), values.end(), view.as<T>(), [](double value) { return convert<T>(value); });
  });
}

/// running = (1 - momentum) running + momentum value
void move_towards(const View& running, const Doubles& values, double momentum) {
  dispatch(running.dtype, [&](auto tag) {
    using T = decltype(tag);
    T* target = running.as<T>();
    for (double value : values) {
      *target = convert<T>((1 - momentum) * convert<double>(*target) + momentum * value);
      target += running.strides[0];
    }
  });
}

/// How the planes share statistics and parameters.
struct Layout : PlaneShape {
  explicit Layout(const PlaneShape& shape) : PlaneShape(shape) {}

  bool by_batch() const { return groups == 0; }
  int64_t statistics() const { return by_batch() ? channels : samples * groups; }
  /// Elements that share their statistics.
  int64_t shared() const { return by_batch() ? samples * length : channels / groups * length; }
  /// Planes of which each belongs to one channel.
  Planes planes() const {
    if (channels_last) return {samples * channels * length, channels, 1};
    return {samples * channels, by_batch() ? channels : samples * channels, length};
  }
  /// Which statistic and which channel plane p has, counted within the period.
  int64_t statistic(int64_t p) const {
    return by_batch() ? p : p / channels * groups + p % channels / (channels / groups);
  }
  int64_t channel(int64_t p) const { return by_batch() ? p : p % channels; }
};

/// Scales each plane by its statistics and parameters.
void scaled(const Layout& layout, const View& in, const Doubles& mean, const Doubles& rstd, const Doubles& weight,
            const Doubles& bias, const View& out) {
  Planes planes = layout.planes();
  auto period = static_cast<size_t>(planes.period);
  Doubles center(period), factor(period), term(period);
  for (int64_t p = 0; p < planes.period; ++p) {
    center[p] = mean[layout.statistic(p)];
    factor[p] = rstd[layout.statistic(p)] * weight[layout.channel(p)];
    term[p] = bias[layout.channel(p)];
  }
  plane_scale(in, planes, center.data(), factor.data(), term.data(), out);
}

/// 1 / standard deviation of the channels, of their variances.
Doubles inverse_deviations(const View& var, int64_t channels, double eps) {
  Doubles values = doubles(&var, channels);
  for (double& value : values) value = 1 / std::sqrt(value + eps);
  return values;
}

/// What the gradients are made of: sums over each plane of g and of g (x - mean).
struct Backward {
  Layout layout;
  const View &g, &in;
  Doubles mean, rstd, weight, center, sums, products;

  Backward(const PlaneShape& shape, const View& g, const View& in, const View& its_mean, Doubles its_rstd,
           const View* its_weight)
      : layout(shape),
        g(g),
        in(in),
        mean(doubles(&its_mean, layout.statistics())),
        rstd(std::move(its_rstd)),
        weight(doubles(its_weight, layout.channels, 1)),
        center(static_cast<size_t>(layout.planes().period)),
        sums(center.size()),
        products(center.size()) {
    for (int64_t p = 0; p < layout.planes().period; ++p) center[p] = mean[layout.statistic(p)];
    if (in.numel() != 0) plane_products(g, in, layout.planes(), center.data(), sums.data(), products.data());
  }

  /// With n = (x - mean) rstd and b = g weight: rstd (b - mean(b) - n mean(b n)).
  void input_grad(const View& gin) const {
    if (in.numel() == 0) return;
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
    plane_scale_sum(g, in, planes, center.data(), factor.data(), slope.data(), term.data(), gin);
  }

  void weight_grad(const View& gweight) const {
    Doubles total(static_cast<size_t>(layout.channels));
    for (int64_t p = 0; p < layout.planes().period; ++p)
      total[layout.channel(p)] += products[p] * rstd[layout.statistic(p)];
    store(total, gweight);
  }

  void bias_grad(const View& gbias) const {
    Doubles total(static_cast<size_t>(layout.channels));
    for (int64_t p = 0; p < layout.planes().period; ++p) total[layout.channel(p)] += sums[p];
    store(total, gbias);
  }
};

}  // namespace

void plane_norm(const View& in, const PlaneShape& shape, const View* weight, const View* bias, const View* running_mean,
                const View* running_var, double momentum, double eps, const View& out, const View& mean,
                const View& rstd) {
  Layout layout(shape);
  auto count = static_cast<size_t>(layout.statistics());
  Doubles means(count), rstds(count), vars(count);
  if (layout.shared() > 0 && count > 0) {
    // Groups lie together in memory, so their planes are whole groups.
    Planes planes =
        layout.by_batch() ? layout.planes() : Planes{layout.statistics(), layout.statistics(), layout.shared()};
    plane_moments(in, planes, means.data(), vars.data());
  }
  double shared = static_cast<double>(layout.shared());
  for (size_t i = 0; i < count; ++i) rstds[i] = shared > 0 ? 1 / std::sqrt(vars[i] / shared + eps) : NAN;
  scaled(layout, in, means, rstds, doubles(weight, layout.channels, 1), doubles(bias, layout.channels), out);
  if (running_mean) move_towards(*running_mean, means, momentum);
  if (running_var) {
    for (double& value : vars) value /= shared - 1;
    move_towards(*running_var, vars, momentum);
  }
  store(means, mean);
  store(rstds, rstd);
}

void plane_norm_backward(const View& g, const View& in, const PlaneShape& shape, const View& mean, const View& rstd,
                         const View* weight, const View* gin, const View* gweight, const View* gbias) {
  Backward all(shape, g, in, mean, doubles(&rstd, Layout(shape).statistics()), weight);
  if (gin != nullptr) all.input_grad(*gin);
  if (gweight != nullptr) all.weight_grad(*gweight);
  if (gbias != nullptr) all.bias_grad(*gbias);
}

void plane_norm_fixed(const View& in, const PlaneShape& shape, const View* weight, const View* bias, const View& mean,
                      const View& var, double eps, const View& out) {
  Layout layout(shape);
  scaled(layout, in, doubles(&mean, layout.channels), inverse_deviations(var, layout.channels, eps),
         doubles(weight, layout.channels, 1), doubles(bias, layout.channels), out);
}

void plane_norm_fixed_backward(const View& g, const View& in, const PlaneShape& shape, const View* weight,
                               const View& mean, const View& var, double eps, const View& gin, const View& gweight,
                               const View& gbias) {
  Backward all(shape, g, in, mean, inverse_deviations(var, shape.channels, eps), weight);
  Doubles none(all.center.size());
  scaled(all.layout, g, none, all.rstd, all.weight, none, gin);
  all.weight_grad(gweight);
  all.bias_grad(gbias);
}

}  // namespace adjoint::cpu
