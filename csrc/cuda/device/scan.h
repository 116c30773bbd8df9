// Scans along slices. Long slices are shared out in parts: a first launch joins the elements of each part, a second one
// begins each part with what those before it have.
//
// An Op has: State; identity(); of(args, place, k), the state of element k; join(state, state), of the earlier and the
// later; emit(args, place, k, state); and how many views there are.
#pragma once

#include "block.h"
#include "cpu/math.h"
#include "slices_args.h"

namespace adjoint::cuda {

template <class Op>
using ScanPlace = SlicePlace<Op::kViews, int64_t>;

/// What the parts before this one have.
template <class Op>
inline typename Op::State before_part(const SliceArgs& args, int64_t slice) {
  typename Op::State state = Op::identity();
  const auto* states = reinterpret_cast<const typename Op::State*>(args.states);
#pragma unroll 4
  for (int64_t part = 0; part < blockIdx.y; ++part) state = Op::join(state, states[part * args.slices + slice]);
  return state;
}
template <class Op>
inline void put_part(const SliceArgs& args, int64_t slice, const typename Op::State& state) {
  reinterpret_cast<typename Op::State*>(args.states)[static_cast<int64_t>(blockIdx.y) * args.slices + slice] = state;
}
inline int64_t part_end(const SliceArgs& args, int64_t begin) {
  return begin + args.part < args.n ? begin + args.part : args.n;
}

/// A thread has a slice, or a part of one.
template <class Op, bool totals>
inline void scan_columns(const SliceArgs& args) {
  using State = typename Op::State;
  constexpr int at_once = 4;
  const int64_t slice = thread_number<int64_t>(), begin = static_cast<int64_t>(blockIdx.y) * args.part;
  if (slice >= args.slices) return;
  const int64_t end = part_end(args, begin);
  const ScanPlace<Op> place(args, slice);
  State state = totals ? Op::identity() : before_part<Op>(args, slice);
  for (int64_t k = begin; k < end; k += at_once) {
    State next[at_once];
#pragma unroll
    for (int i = 0; i < at_once; ++i)
      if (k + i < end) next[i] = Op::of(args, place, k + i);
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      if (k + i >= end) break;
      state = Op::join(state, next[i]);
      if (!totals) Op::emit(args, place, k + i, state);
    }
  }
  if (totals) put_part<Op>(args, slice, state);
}

/// The state of the last lane of a warp.
template <class State>
inline State of_last_lane(const State& mine) {
  struct Words {
    int words[sizeof(State) / 4];
  } all;
  std::memcpy(&all, &mine, sizeof(State));
#pragma unroll
  for (int i = 0; i < static_cast<int>(sizeof(State) / 4); ++i) all.words[i] = __shfl_sync(kAllLanes, all.words[i], 31);
  State last;
  std::memcpy(&last, &all, sizeof(State));
  return last;
}

/// For each thread of a group what those before it have, and in `total` what all have. `mine` is a thread's own.
template <class Op, int threads, int group>
inline typename Op::State before_thread(typename Op::State mine, typename Op::State& total) {
  using State = typename Op::State;
  const unsigned lane = threadIdx.x % 32;
#pragma unroll
  for (unsigned distance = 1; distance < 32; distance *= 2) {
    const State other = shuffled_up(mine, distance);
    if (lane >= distance) mine = Op::join(other, mine);
  }
  State before = shuffled_up(mine, 1);
  if (lane == 0) before = Op::identity();
  if constexpr (group == 32) {
    total = of_last_lane(mine);
  } else {
    static_assert(group == threads);
    alignas(16) __shared__ char memory[threads / 32 * sizeof(State)];
    State* warps = reinterpret_cast<State*>(memory);
    if (lane == 31) warps[threadIdx.x / 32] = mine;
    __syncthreads();
    State earlier = Op::identity();
    total = warps[0];
#pragma unroll
    for (unsigned warp = 1; warp < threads / 32; ++warp) {
      if (warp == threadIdx.x / 32) earlier = total;
      total = Op::join(total, warps[warp]);
    }
    before = Op::join(earlier, before);
    __syncthreads();
  }
  return before;
}

/// A group of threads (a warp, or the block) has a slice, or a part of one, tile after tile.
template <class Op, int threads, int group, int items, bool totals>
inline void scan_rows(const SliceArgs& args) {
  using State = typename Op::State;
  const int64_t slice = static_cast<int64_t>(blockIdx.x) * (threads / group) + threadIdx.x / group;
  const int64_t begin = static_cast<int64_t>(blockIdx.y) * args.part, end = part_end(args, begin);
  const int lane = static_cast<int>(threadIdx.x % group);
  const bool is_there = slice < args.slices;
  const ScanPlace<Op> place(args, is_there ? slice : 0);
  State carry = totals ? Op::identity() : before_part<Op>(args, is_there ? slice : 0);
  for (int64_t base = begin; base < end; base += group * items) {
    const int64_t first = base + lane * items;
    State states[items];
#pragma unroll
    for (int i = 0; i < items; ++i) states[i] = first + i < end ? Op::of(args, place, first + i) : Op::identity();
#pragma unroll
    for (int i = 1; i < items; ++i) states[i] = Op::join(states[i - 1], states[i]);
    State total;
    const State before = Op::join(carry, before_thread<Op, threads, group>(states[items - 1], total));
    if constexpr (!totals) {
#pragma unroll
      for (int i = 0; i < items; ++i)
        if (is_there && first + i < end) Op::emit(args, place, first + i, Op::join(before, states[i]));
    }
    carry = Op::join(carry, total);
  }
  if (totals && is_there && lane == 0) put_part<Op>(args, slice, carry);
}

// ---- Kinds

template <class S, class A>
struct ScanReads {
  static constexpr int kViews = 2;
  template <class Place>
  static A of(const SliceArgs& args, const Place& place, int64_t k) {
    return convert<A>(reinterpret_cast<const S*>(args.data[0])[place.at[0] + k * args.step[0]]);
  }
};
template <class A, class Out>
struct ScanWrites {
  template <class Place>
  static void emit(const SliceArgs& args, const Place& place, int64_t k, const A& state) {
    reinterpret_cast<Out*>(args.data[1])[place.at[1] + k * args.step[1]] = convert<Out>(state);
  }
};

template <class S, class A, class Out>
struct RunningSum : ScanReads<S, A>, ScanWrites<A, Out> {
  using State = A;
  static A identity() { return A(0); }
  static A join(A a, A b) { return fn::add(a, b); }
};
template <class S, class A, class Out>
struct RunningProduct : ScanReads<S, A>, ScanWrites<A, Out> {
  using State = A;
  static A identity() { return A(1); }
  static A join(A a, A b) { return fn::mul(a, b); }
};

inline double log_add_exp(double a, double b) {
  const bool first = a > b || a != a;
  const double high = first ? a : b, low = first ? b : a;
  // Equal infinities would give inf - inf; a NaN on either side stays.
  if (low == high && fn::isinf(high)) return high;
  return high + std::log1p(std::exp(low - high));
}
/// The angle goes on from that of the greatest element so far: for sums in order only.
inline complex128 log_add_exp(complex128 a, complex128 b) {
  constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const complex128 high = a.real() < b.real() ? b : a, low = a.real() < b.real() ? a : b;
  if (a.real() != a.real() || b.real() != b.real()) return complex128(nan, nan);
  if (high.real() == infinity) return complex128(infinity, low.real() == infinity ? nan : high.imag());
  if (low.real() == -infinity) return high.real() == -infinity ? complex128(-infinity, 0) : high;
  return high + std::log(complex128(1.0, 0.0) + std::exp(low - high));
}
template <class S, class A, class Out>
struct RunningLogSumExp : ScanReads<S, A>, ScanWrites<A, Out> {
  using State = A;
  static A identity() { return A(-std::numeric_limits<double>::infinity()); }
  static A join(A a, A b) { return log_add_exp(a, b); }
};

/// The greatest (least) element so far, and its last number; a NaN wins.
template <class S, class A, class Out, bool most>
struct RunningExtreme {
  static constexpr int kViews = 3;
  struct State {
    int64_t index;  ///< -1: no element
    A value;
  };
  static State identity() { return {-1, A(0)}; }
  template <class Place>
  static State of(const SliceArgs& args, const Place& place, int64_t k) {
    return {k, convert<A>(reinterpret_cast<const S*>(args.data[0])[place.at[0] + k * args.step[0]])};
  }
  static State join(State a, State b) {
    if (b.index < 0 || a.index < 0) return b.index < 0 ? a : b;
    return (most ? b.value >= a.value : b.value <= a.value) || b.value != b.value ? b : a;
  }
  template <class Place>
  static void emit(const SliceArgs& args, const Place& place, int64_t k, const State& state) {
    reinterpret_cast<Out*>(args.data[1])[place.at[1] + k * args.step[1]] = convert<Out>(state.value);
    reinterpret_cast<int64_t*>(args.data[2])[place.at[2] + k * args.step[2]] = state.index;
  }
};

/// y[k] = x[k] + weight[k] y[k - 1]: y goes to factor y + term.
template <class S, class A>
struct Recurrence {
  static constexpr int kViews = 3;
  struct State {
    A factor, term;
  };
  static State identity() { return {A(1), A(0)}; }
  template <class Place>
  static State of(const SliceArgs& args, const Place& place, int64_t k) {
    const A x = convert<A>(reinterpret_cast<const S*>(args.data[0])[place.at[0] + k * args.step[0]]);
    // There is none before the first element.
    if (k == 0) return {A(0), x};
    return {convert<A>(reinterpret_cast<const S*>(args.data[1])[place.at[1] + k * args.step[1]]), x};
  }
  /// A product of many factors may be infinite where the elements are not: times nothing it is nothing.
  static A product(A factor, A y) {
    const A value = fn::mul(factor, y);
    if (!(value == value) && factor == factor && y == y && (factor == A(0) || y == A(0))) return A(0);
    return value;
  }
  static State join(State a, State b) {
    return {product(a.factor, b.factor), fn::add(b.term, product(b.factor, a.term))};
  }
  template <class Place>
  static void emit(const SliceArgs& args, const Place& place, int64_t k, const State& state) {
    reinterpret_cast<S*>(args.data[2])[place.at[2] + k * args.step[2]] = convert<S>(state.term);
  }
};

}  // namespace adjoint::cuda
