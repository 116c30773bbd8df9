// Softmax along slices. A row is one group of threads', which keep it in registers where it fits; neighbouring columns
// are those of neighbouring threads. A is the type computed in.
#pragma once

#include "reduce_ops.h"
#include "rows.h"
#include "slices_args.h"

namespace adjoint::cuda {

/// The greatest element and the sum of the exponentials, for slices that are read twice.
template <class A>
using Exponentials = LogSumExp<A, A, A>;
template <class A>
using ExponentialSum = typename Exponentials<A>::State;

/// Joins several elements, which share the rescaling.
template <class A, int count>
inline ExponentialSum<A> with_elements(ExponentialSum<A> now, const A (&x)[count]) {
  using Of = Exponentials<A>;
  A high = now.high;
#pragma unroll
  for (int i = 0; i < count; ++i) high = better<true>(x[i], high);
  A total = Of::rescaled(now, high);
  const A shift = Of::shift(high);
#pragma unroll
  for (int i = 0; i < count; ++i) total += std::exp(x[i] - shift);
  return {high, total};
}

/// Joins elements from `first` on, several at a time.
template <class A, class S, class Index>
inline ExponentialSum<A> exponential_sum(const S* slice, int64_t step, Index first, Index n, Index stride) {
  constexpr int at_once = 4;
  ExponentialSum<A> now = {worst<A, true>(), A(0)};
  for (Index k = first; k < n; k += stride * at_once) {
    A x[at_once];
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const Index at = k + i * stride;
      x[i] = at < n ? convert<A>(slice[static_cast<int64_t>(at) * step]) : worst<A, true>();
    }
    now = with_elements(now, x);
  }
  return now;
}

/// What is done with an element once the sum is known. An infinite greatest one leaves nothing that is a number.
template <bool log, class A>
struct Finish {
  A high, scale;
  Finish(A high, A total) : high(high) {
    if (fn::isinf(high)) total = std::numeric_limits<A>::quiet_NaN();
    scale = log ? std::log(total) : 1 / total;
  }
  A operator()(A x) const { return log ? x - high - scale : std::exp(x - high) * scale; }
};

template <bool log, class A, class S, class Out, class Index, int threads, int group, int packets, int width,
          bool packed>
inline void softmax_rows(const SliceArgs& args) {
  const Index row = static_cast<Index>(blockIdx.x) * (threads / group) + threadIdx.x / group;
  const int lane = static_cast<int>(threadIdx.x % group), n = static_cast<int>(args.n);
  const bool is_there = row < static_cast<Index>(args.slices);
  const SlicePlace<2, Index> place(args, is_there ? row : 0);
  RowPart<A, group, packets, width> part;
  part.template load<S, packed>(reinterpret_cast<const S*>(args.data[0]) + place.at[0], args.step[0], lane, n,
                                worst<A, true>());
  A high = worst<A, true>(), total = 0;
#pragma unroll
  for (int i = 0; i < packets * width; ++i) high = better<true>(part.values[i], high);
  high = joined_by_all<threads, group, Greatest::Of<A>>(high);
#pragma unroll
  for (int i = 0; i < packets * width; ++i) {
    if constexpr (log) {
      total += std::exp(part.values[i] - high);
    } else {
      part.values[i] = std::exp(part.values[i] - high);
      total += part.values[i];
    }
  }
  total = joined_by_all<threads, group, Sums::Of<A>>(total);
  const Finish<log, A> finish(high, total);
#pragma unroll
  for (int i = 0; i < packets * width; ++i) {
    if constexpr (log) {
      part.values[i] = finish(part.values[i]);
    } else {
      part.values[i] *= finish.scale;
    }
  }
  if (!is_there) return;
  part.template store<Out, packed>(reinterpret_cast<Out*>(args.data[1]) + place.at[1], args.step[1], lane, n);
}

template <bool log, class A, class S, class Out, int threads>
inline void softmax_long_rows(const SliceArgs& args) {
  const SlicePlace<2, int64_t> place(args, blockIdx.x);
  const S* in = reinterpret_cast<const S*>(args.data[0]) + place.at[0];
  Out* out = reinterpret_cast<Out*>(args.data[1]) + place.at[1];
  auto sum = exponential_sum<A, S, int64_t>(in, args.step[0], threadIdx.x, args.n, threads);
  sum = joined_by_all<threads, threads, Exponentials<A>>(sum);
  const Finish<log, A> finish(sum.high, sum.total);
  for (int64_t k = threadIdx.x; k < args.n; k += threads)
    out[k * args.step[1]] = convert<Out>(finish(convert<A>(in[k * args.step[0]])));
}

/// The state of a column's first thread, for all of its threads.
template <int columns, class State>
inline State of_column(const State& state) {
  alignas(16) __shared__ char memory[columns * sizeof(State)];
  State* states = reinterpret_cast<State*>(memory);
  if (threadIdx.x < columns) states[threadIdx.x] = state;
  __syncthreads();
  return states[threadIdx.x % columns];
}

template <bool log, class A, class S, class Out, class Index, int threads, int columns>
inline void softmax_columns(const SliceArgs& args) {
  constexpr Index lanes = threads / columns;
  const Index column = static_cast<Index>(blockIdx.x) * columns + threadIdx.x % columns, lane = threadIdx.x / columns;
  const bool is_there = column < static_cast<Index>(args.slices);
  const Index n = is_there ? static_cast<Index>(args.n) : 0;
  const SlicePlace<2, Index> place(args, is_there ? column : 0);
  const S* in = reinterpret_cast<const S*>(args.data[0]) + place.at[0];
  Out* out = reinterpret_cast<Out*>(args.data[1]) + place.at[1];
  auto sum = exponential_sum<A, S, Index>(in, args.step[0], lane, n, lanes);
  sum = joined<threads, Exponentials<A>>(sum, columns, threads);
  sum = of_column<columns>(sum);
  const Finish<log, A> finish(sum.high, sum.total);
#pragma unroll 4
  for (Index k = lane; k < n; k += lanes)
    out[static_cast<int64_t>(k) * args.step[1]] =
        convert<Out>(finish(convert<A>(in[static_cast<int64_t>(k) * args.step[0]])));
}

// ---- Backward: of g and the result, the gradient of the input

template <bool log, class A>
inline A gradient_term(A g, A y) {
  return log ? g : g * y;
}
template <bool log, class A>
inline A input_gradient(A g, A y, A total) {
  return log ? g - std::exp(y) * total : y * (g - total);
}

template <bool log, class A, class G, class Y, class Out, class Index, int threads, int group, int packets, int width,
          bool packed>
inline void softmax_backward_rows(const SliceArgs& args) {
  const Index row = static_cast<Index>(blockIdx.x) * (threads / group) + threadIdx.x / group;
  const int lane = static_cast<int>(threadIdx.x % group), n = static_cast<int>(args.n);
  const bool is_there = row < static_cast<Index>(args.slices);
  const SlicePlace<3, Index> place(args, is_there ? row : 0);
  RowPart<A, group, packets, width> g, y;
  g.template load<G, packed>(reinterpret_cast<const G*>(args.data[0]) + place.at[0], args.step[0], lane, n, A(0));
  y.template load<Y, packed>(reinterpret_cast<const Y*>(args.data[1]) + place.at[1], args.step[1], lane, n, A(0));
  A total = 0;
#pragma unroll
  for (int i = 0; i < packets * width; ++i) total += gradient_term<log>(g.values[i], y.values[i]);
  total = joined_by_all<threads, group, Sums::Of<A>>(total);
#pragma unroll
  for (int i = 0; i < packets * width; ++i) g.values[i] = input_gradient<log>(g.values[i], y.values[i], total);
  if (!is_there) return;
  g.template store<Out, packed>(reinterpret_cast<Out*>(args.data[2]) + place.at[2], args.step[2], lane, n);
}

/// By columns, or one long row a block (`columns` 1).
template <bool log, class A, class G, class Y, class Out, class Index, int threads, int columns>
inline void softmax_backward_columns(const SliceArgs& args) {
  constexpr Index lanes = threads / columns;
  const Index column = static_cast<Index>(blockIdx.x) * columns + threadIdx.x % columns, lane = threadIdx.x / columns;
  const bool is_there = column < static_cast<Index>(args.slices);
  const Index n = is_there ? static_cast<Index>(args.n) : 0;
  const SlicePlace<3, Index> place(args, is_there ? column : 0);
  const G* g = reinterpret_cast<const G*>(args.data[0]) + place.at[0];
  const Y* y = reinterpret_cast<const Y*>(args.data[1]) + place.at[1];
  Out* out = reinterpret_cast<Out*>(args.data[2]) + place.at[2];
  auto at = [](auto* data, Index k, int64_t step) { return convert<A>(data[static_cast<int64_t>(k) * step]); };
  A total = 0;
#pragma unroll 4
  for (Index k = lane; k < n; k += lanes)
    total += gradient_term<log>(at(g, k, args.step[0]), log ? A(0) : at(y, k, args.step[1]));
  total = joined<threads, Sums::Of<A>>(total, columns, threads);
  total = of_column<columns>(total);
#pragma unroll 4
  for (Index k = lane; k < n; k += lanes)
    out[static_cast<int64_t>(k) * args.step[2]] =
        convert<Out>(input_gradient<log>(at(g, k, args.step[0]), at(y, k, args.step[1]), total));
}

}  // namespace adjoint::cuda
