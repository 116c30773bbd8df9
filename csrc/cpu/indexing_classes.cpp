// The scores of classes that targets name, weighted and added up, and the way back.
#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

#include "core/error.h"
#include "cpu/indexing.h"

namespace adjoint::cpu {
namespace {

using kernels::Classes;
using kernels::LossReduction;

/// Calls f(number of the target, place in the scores, weight) for each target that counts.
template <class F>
void each_target(const View& target, const View* weight, const Classes& classes, F&& f) {
  const int64_t* targets = target.as<const int64_t>();
  const double* weights = weight ? weight->as<const double>() : nullptr;
  for (int64_t i = 0, n = target.numel(); i < n; ++i) {
    const int64_t t = targets[i], inner = classes.inner;
    if (t != classes.ignored) f(i, (i / inner * classes.count + t) * inner + i % inner, weights ? weights[t] : 1.0);
  }
}

/// Calls f(T{}) with a real floating type, which the types of losses are.
template <class F>
void dispatch_float(DType dtype, F&& f) {
  dispatch(dtype, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_floating_point_v<T> || is_half_v<T>) f(tag);
  });
}

template <class T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

/// What a row's softmax needs: its greatest score, and the logarithm of the sum of exponentials of the rest.
template <class A, class S>
std::pair<A, A> sums_of(const S* row, int64_t count) {
  A high = -std::numeric_limits<A>::infinity(), total = 0;
  for (int64_t c = 0; c < count; ++c) {
    const A x = static_cast<A>(row[c]);
    if (!(x <= high)) high = x;  // NaN, too
  }
  for (int64_t c = 0; c < count; ++c) total += std::exp(static_cast<A>(row[c]) - high);
  return {high, std::log(total)};
}

/// Calls f(S{}, T{}) with the types of scores and of their loss: one, or a half type and float.
template <class F>
void dispatch_entropy(DType scores, DType loss, F&& f) {
  dispatch_float(scores, [&](auto score) {
    using S = decltype(score);
    if (scores == loss)
      f(score, score);
    else if constexpr (is_half_v<S>)
      f(score, float());
  });
}

}  // namespace

void check_classes(const View& target, const Classes& classes) {
  const int64_t* targets = target.as<const int64_t>();
  for (int64_t i = 0, n = target.numel(); i < n; ++i) {
    const int64_t t = targets[i];
    if (t != classes.ignored && (t < 0 || t >= classes.count))
      fail(ErrorKind::Index, "Target ", t, " is out of bounds. There are ", classes.count, " classes, 0 to ",
           classes.count - 1, "; it is element ", i, " of the target.");
  }
}

void class_scores(const View& scores, const View& target, const View* weight, const Classes& classes,
                  LossReduction reduction, const View& loss, const View& total) {
  dispatch_float(scores.dtype, [&](auto tag) {
    using T = decltype(tag);
    const bool each = reduction == LossReduction::None;
    const T* from = scores.as<const T>();
    T* to = loss.as<T>();
    double sum = 0, weights = 0;
    each_target(target, weight, classes, [&](int64_t i, int64_t place, double w) {
      const double term = -static_cast<double>(static_cast<Wide<T>>(from[place])) * w;
      if (each) to[i] = convert<T>(term);
      sum += term;
      weights += w;
    });
    if (!each) *to = convert<T>(reduction == LossReduction::Mean ? sum / weights : sum);
    *total.as<T>() = convert<T>(weights);
  });
}

void class_scores_backward(const View& g, const View& target, const View* weight, const Classes& classes,
                           LossReduction reduction, const View& total, const View& out) {
  dispatch_float(g.dtype, [&](auto tag) {
    using T = decltype(tag);
    const bool each = reduction == LossReduction::None;
    const double share = reduction == LossReduction::Mean ? 1.0 / static_cast<Wide<T>>(*total.as<const T>()) : 1.0;
    const T* from = g.as<const T>();
    T* to = out.as<T>();
    each_target(target, weight, classes, [&](int64_t i, int64_t place, double w) {
      to[place] = convert<T>(-static_cast<double>(static_cast<Wide<T>>(from[each ? i : 0])) * w * share);
    });
  });
}

bool prefers_class_entropy() { return false; }  // log_softmax has fast loops here

void class_entropy(const View& scores, const View& target, const View* weight, const Classes& classes,
                   LossReduction reduction, const View& loss, const View& total, const View& sums) {
  dispatch_entropy(scores.dtype, loss.dtype, [&](auto score, auto result) {
    using S = decltype(score);
    using T = decltype(result);
    using A = Wide<S>;
    const bool each = reduction == LossReduction::None;
    const S* from = scores.as<const S>();
    A* known = sums.as<A>();
    T* to = loss.as<T>();
    for (int64_t i = 0, n = target.numel(); i < n; ++i)
      std::tie(known[2 * i], known[2 * i + 1]) = sums_of<A>(from + i * classes.count, classes.count);
    double sum = 0, weights = 0;
    each_target(target, weight, classes, [&](int64_t i, int64_t place, double w) {
      const double term = -static_cast<double>(static_cast<A>(from[place]) - known[2 * i] - known[2 * i + 1]) * w;
      if (each) to[i] = convert<T>(term);
      sum += term;
      weights += w;
    });
    if (!each) *to = convert<T>(reduction == LossReduction::Mean ? sum / weights : sum);
    *total.as<T>() = convert<T>(weights);
  });
}

void class_entropy_backward(const View& g, const View& scores, const View& sums, const View& target, const View* weight,
                            const Classes& classes, LossReduction reduction, const View& total, const View& out) {
  dispatch_entropy(scores.dtype, g.dtype, [&](auto score, auto result) {
    using S = decltype(score);
    using T = decltype(result);
    using A = Wide<S>;
    const bool each = reduction == LossReduction::None;
    const double share = reduction == LossReduction::Mean ? 1.0 / static_cast<Wide<T>>(*total.as<const T>()) : 1.0;
    const S* from = scores.as<const S>();
    const A* known = sums.as<const A>();
    const T* slopes = g.as<const T>();
    S* to = out.as<S>();
    std::fill_n(to, out.numel(), S(0));  // targets to ignore
    each_target(target, weight, classes, [&](int64_t i, int64_t place, double w) {
      const A slope = static_cast<A>(-static_cast<double>(static_cast<Wide<T>>(slopes[each ? i : 0])) * w * share);
      for (int64_t k = i * classes.count, end = k + classes.count; k < end; ++k) {
        const A share_of_k = std::exp(static_cast<A>(from[k]) - known[2 * i] - known[2 * i + 1]);
        to[k] = convert<S>((k == place ? slope : A(0)) - share_of_k * slope);
      }
    });
  });
}

}  // namespace adjoint::cpu
