// Batch and group norm: statistics by reductions, then one pass over the elements. A is the type computed in.
#pragma once

#include "normalize_args.h"
#include "reduce_ops.h"

namespace adjoint::cuda {

template <class A, class S>
inline A given_or(const char* data, int64_t i, A otherwise) {
  return data ? convert<A>(reinterpret_cast<const S*>(data)[i]) : otherwise;
}

/// running = (1 - momentum) running + momentum value
template <class S>
inline void move_towards(char* running, int64_t i, double momentum, double value) {
  if (!running) return;
  S* place = reinterpret_cast<S*>(running) + i;
  *place = convert<S>((1 - momentum) * convert<double>(*place) + momentum * value);
}

/// The mean and 1 / standard deviation of output o, to the outputs and, unrounded, to `taken`; after these come the
/// running mean and variance. The numbers are eps and momentum.
template <class S, class A, class Mean, class Rstd, class RunningMean, class RunningVar>
struct PlaneStatistics : MomentsOf<S, A> {
  static void emit(const ReduceArgs& args, Moments<A> state, int64_t, const int64_t (&places)[2]) {
    const double count = static_cast<double>(args.n);
    const A mean = state.n == 0 ? A(0) : state.mean, variance = state.squares / static_cast<A>(args.n);
    const A rstd =
        state.n == 0 ? std::numeric_limits<A>::quiet_NaN() : 1 / std::sqrt(variance + static_cast<A>(args.numbers[0]));
    const int64_t o = places[0];
    put<Mean, 0>(args, places, mean);
    put<Rstd, 1>(args, places, rstd);
    reinterpret_cast<A*>(args.taken[0])[o] = mean;
    reinterpret_cast<A*>(args.taken[1])[o] = rstd;
    move_towards<RunningMean>(args.taken[2], o * args.taken_steps[2], args.numbers[1], mean);
    move_towards<RunningVar>(args.taken[3], o * args.taken_steps[3], args.numbers[1], state.squares / (count - 1));
  }
};

/// The two inputs are g and x, the given ones their means, and 1 / standard deviations or (`fixed`) variances of the
/// channels, and weights. A plane's sums of g and of g (x - mean) go to `taken`, times the weight where planes share
/// nothing (`alone`); then the gradients of weight and bias go to the outputs.
template <class G, class S, class A, class Mean, class Rstd, class W, class GWeight, class GBias, bool alone,
          bool fixed>
struct PlaneProducts {
  struct Element {
    G g;
    S x;
  };
  template <int width, bool aligned>
  static Packet<Element, width> load(const ReduceArgs& args, int64_t offset) {
    const auto g = load_packet<width, aligned>(reinterpret_cast<const G*>(args.in[1]) + offset);
    const auto x = load_packet<width, aligned>(reinterpret_cast<const S*>(args.in[0]) + offset);
    Packet<Element, width> both;
#pragma unroll
    for (int i = 0; i < width; ++i) both.values[i] = {g.values[i], x.values[i]};
    return both;
  }
  struct State {
    A sum, product;
  };
  struct Running {
    A center;
    State now;
    void start(const ReduceArgs& args, int64_t o) {
      center = convert<A>(reinterpret_cast<const Mean*>(args.given[0])[o / args.channels_each * args.given_steps[0]]);
      now = {0, 0};
    }
    void take(const ReduceArgs&, Element e, int64_t) {
      const A g = convert<A>(e.g);
      now.sum += g;
      now.product += g * (convert<A>(e.x) - center);
    }
    State state() const { return now; }
  };
  static State join(State a, State b) { return {a.sum + b.sum, a.product + b.product}; }
  static void emit(const ReduceArgs& args, State state, int64_t o, const int64_t (&places)[2]) {
    A weight = 1;
    if constexpr (alone) {
      A rstd = convert<A>(reinterpret_cast<const Rstd*>(args.given[1])[o * args.given_steps[1]]);
      if (fixed) rstd = 1 / std::sqrt(rstd + static_cast<A>(args.numbers[0]));
      weight = given_or<A, W>(args.given[2], o * args.given_steps[2], A(1));
      if (args.out[0]) put<GWeight, 0>(args, places, state.product * rstd);
      if (args.out[1]) put<GBias, 1>(args, places, state.sum);
    }
    if (!args.taken[0]) return;
    reinterpret_cast<A*>(args.taken[0])[o] = state.sum * weight;
    reinterpret_cast<A*>(args.taken[1])[o] = state.product * weight;
  }
};

/// From the sums of planes: thread s the averages of group s, thread `groups` + c the gradients of channel c's
/// parameters.
template <class A, class Rstd, class W, class GWeight, class GBias>
inline void group_sums(const PlaneArgs& args) {
  const int64_t all = args.samples * args.groups, number = thread_number<int64_t>(), each = args.channels / args.groups;
  const A* sums = reinterpret_cast<const A*>(args.plane_sums);
  const A* products = reinterpret_cast<const A*>(args.plane_products);
  if (number < all) {
    const int64_t channel = number % args.groups * each;
    A average = 0, product = 0;
#pragma unroll 8
    for (int64_t c = 0; c < each; ++c) {
      const A weight = given_or<A, W>(args.weight, (channel + c) * args.weight_step, A(1));
      average += sums[number * each + c] * weight;
      product += products[number * each + c] * weight;
    }
    reinterpret_cast<A*>(args.group_averages)[number] = average;
    reinterpret_cast<A*>(args.group_products)[number] = product;
  } else if (number < all + args.channels) {
    const int64_t c = number - all;
    A weight = 0, bias = 0;
#pragma unroll 8
    for (int64_t s = 0; s < args.samples; ++s) {
      const A rstd = convert<A>(reinterpret_cast<const Rstd*>(args.rstd)[s * args.groups + c / each]);
      weight += products[s * args.channels + c] * rstd;
      bias += sums[s * args.channels + c];
    }
    if (args.gweight) reinterpret_cast<GWeight*>(args.gweight)[c] = convert<GWeight>(weight);
    if (args.gbias) reinterpret_cast<GBias*>(args.gbias)[c] = convert<GBias>(bias);
  }
}

/// What a packet's elements have in common, or (`last`: channels lie side by side) each for itself.
template <class A, class Index, class Mean, class Rstd, class W, class B, bool fixed>
struct PlaneFactors {
  A center, rstd, weight, bias;
  Index statistic;

  PlaneFactors(const PlaneArgs& args, Index i, Index channel) {
    statistic = args.shared ? i / static_cast<Index>(args.shared) : channel;
    const int64_t at = static_cast<int64_t>(statistic);
    center = given_or<A, Mean>(args.mean, at * args.mean_step, A(0));
    rstd = convert<A>(reinterpret_cast<const Rstd*>(args.rstd)[at * args.rstd_step]);
    if (fixed) rstd = 1 / std::sqrt(rstd + static_cast<A>(args.eps));
    weight = given_or<A, W>(args.weight, static_cast<int64_t>(channel) * args.weight_step, A(1));
    bias = given_or<A, B>(args.bias, static_cast<int64_t>(channel) * args.bias_step, A(0));
  }
};

/// out = (in - mean) rstd weight + bias, or (`back`) with n = (x - mean) rstd and b = g weight:
/// rstd (b - mean(b) - n mean(b n)). Without means b n and b the latter is rstd b.
template <class A, class Index, class G, class In, class Out, class Mean, class Rstd, class W, class B, bool back,
          bool fixed, bool last, int width>
inline void normalize_planes(const PlaneArgs& args) {
  const Index first = thread_number<Index>() * width;
  if (first >= static_cast<Index>(args.numel)) return;
  const Index plane = first / static_cast<Index>(args.length);
  const Index channel = plane % static_cast<Index>(args.channels);
  using Factors = PlaneFactors<A, Index, Mean, Rstd, W, B, fixed>;
  Packet<In, width> x;
  Packet<G, width> g;
  if (!back || !fixed) x = load_packet<width, true>(reinterpret_cast<const In*>(args.in) + first);
  if (back) g = load_packet<width, true>(reinterpret_cast<const G*>(args.g) + first);
  Packet<Out, width> out;
  auto write = [&](int i, const Factors& of, A average, A product) {
    if constexpr (back) {
      const A b = convert<A>(g.values[i]) * of.weight;
      if constexpr (fixed) {
        out.values[i] = convert<Out>(of.rstd * b);
      } else {
        const A normal = (convert<A>(x.values[i]) - of.center) * of.rstd;
        out.values[i] = convert<Out>(of.rstd * (b - average - normal * (of.rstd * product)));
      }
    } else {
      out.values[i] = convert<Out>((convert<A>(x.values[i]) - of.center) * (of.rstd * of.weight) + of.bias);
    }
  };
  auto average_of = [&](const char* sums, const Factors& of) {
    if constexpr (!back || fixed) return A(0);
    return reinterpret_cast<const A*>(sums)[of.statistic] / static_cast<A>(args.count);
  };
  if constexpr (last) {
#pragma unroll
    for (int i = 0; i < width; ++i) {
      const Factors of(args, first + i, channel + i);
      write(i, of, average_of(args.averages, of), average_of(args.products, of));
    }
  } else {
    const Factors of(args, first, channel);
    const A average = average_of(args.averages, of), product = average_of(args.products, of);
#pragma unroll
    for (int i = 0; i < width; ++i) write(i, of, average, product);
  }
  store_packet<true>(out, reinterpret_cast<Out*>(args.out) + first);
}

}  // namespace adjoint::cuda
