// Reductions: the threads of a row, or of a column, each take some of its elements, and join what they have.
//
// An Op has: Element, and load<width, aligned>(args, offset) for so many of them; State, plain words; Running, which
// start()s, take()s elements with their numbers, and becomes a state(); join(state, state), of the earlier and the
// later; and emit(args, state, output, offsets of the outputs).
#pragma once

#include "block.h"
#include "cpu/math.h"
#include "reduce_args.h"

namespace adjoint::cuda {

/// Where output o begins in the input, and where its results go.
template <class Index>
struct Place {
  int64_t in = 0, out[2] = {0, 0};

  Place(const ReduceArgs& args, Index o) {
#pragma unroll 1
    for (int d = args.kept_dims - 1; d >= 0; --d) {
      const Index size = static_cast<Index>(args.kept_sizes[d]), quotient = o / size;
      const int64_t at = static_cast<int64_t>(o - quotient * size);
      in += at * args.kept_in[d];
      out[0] += at * args.kept_out[0][d];
      out[1] += at * args.kept_out[1][d];
      o = quotient;
    }
  }
};

/// Where element r of an output lies, from where the output begins. `flat`: the elements are one dimension.
template <bool flat, class Index>
inline int64_t reduced_offset(const ReduceArgs& args, Index r) {
  if constexpr (flat) {
    return static_cast<int64_t>(r) * args.reduced_in[0];
  } else {
    int64_t offset = 0;
#pragma unroll 1
    for (int d = args.reduced_dims - 1; d > 0; --d) {
      const Index size = static_cast<Index>(args.reduced_sizes[d]), quotient = r / size;
      offset += static_cast<int64_t>(r - quotient * size) * args.reduced_in[d];
      r = quotient;
    }
    return offset + static_cast<int64_t>(r) * args.reduced_in[0];
  }
}

/// A thread's share of an output's elements: those from `first` on, `step` packets apart, in several running results
/// that do not wait for one another.
template <class Op, class Index, bool flat, int width, bool aligned, int unroll>
inline typename Op::State share(const ReduceArgs& args, Index o, int64_t begin, Index first, Index end, Index step) {
  typename Op::Running running[unroll * width];
#pragma unroll
  for (int i = 0; i < unroll * width; ++i) running[i].start(args, static_cast<int64_t>(o));
  Index r = first;
  // Written so that indices do not wrap.
  for (; r < end && end - r > step * (unroll - 1) && end - r - step * (unroll - 1) >= width; r += step * unroll) {
    Packet<typename Op::Element, width> packets[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u)
      packets[u] = Op::template load<width, aligned>(args, begin + reduced_offset<flat>(args, r + u * step));
#pragma unroll
    for (int u = 0; u < unroll; ++u)
#pragma unroll
      for (int i = 0; i < width; ++i)
        running[u * width + i].take(args, packets[u].values[i], static_cast<int64_t>(r + u * step + i));
  }
#pragma unroll
  for (int u = 0; u < unroll; ++u) {
    if (r >= end) break;
    const bool is_whole = end - r >= width;
    Packet<typename Op::Element, width> packet;
    if (is_whole) packet = Op::template load<width, aligned>(args, begin + reduced_offset<flat>(args, r));
#pragma unroll
    for (int i = 0; i < width; ++i) {
      if (end - r <= i) break;
      if (!is_whole)
        packet.values[i] = Op::template load<1, false>(args, begin + reduced_offset<flat>(args, r + i)).values[0];
      running[u * width + i].take(args, packet.values[i], static_cast<int64_t>(r + i));
    }
    if (end - r <= step) break;
    r += step;
  }
  typename Op::State state = running[0].state();
#pragma unroll
  for (int i = 1; i < unroll * width; ++i) state = Op::join(state, running[i].state());
  return state;
}

/// A group of threads has an output: neighbours of a block where the elements of an output are near to one another
/// (`by_rows`), else those at the same place of as many columns as there are groups.
template <class Op, class Index, int threads, bool by_rows, bool flat, int width, bool aligned, int unroll>
inline void reduce(const ReduceArgs& args) {
  const unsigned group = 1u << args.group, columns = static_cast<unsigned>(threads) >> args.group;
  const unsigned lane = by_rows ? threadIdx.x & (group - 1) : threadIdx.x >> (__ffs(static_cast<int>(columns)) - 1);
  const Index o =
      static_cast<Index>(blockIdx.x) * columns + (by_rows ? threadIdx.x >> args.group : threadIdx.x & (columns - 1));
  const Index outputs = static_cast<Index>(args.outputs), n = static_cast<Index>(args.n);
  const Index part = static_cast<Index>(args.part), start = static_cast<Index>(blockIdx.y) * part;
  const Index end = n - start < part ? n : start + part;
  const bool is_there = o < outputs;
  const Place<Index> place(args, is_there ? o : 0);
  typename Op::State state = share<Op, Index, flat, width, aligned, unroll>(
      args, is_there ? o : 0, place.in, start + lane * width, is_there ? end : 0, static_cast<Index>(group * width));
  state = joined<threads, Op>(state, by_rows ? 1 : columns, by_rows ? group : threads);
  if (!is_there || lane != 0) return;
  if (args.parts == 1) {
    Op::emit(args, state, static_cast<int64_t>(o), place.out);
  } else {
    reinterpret_cast<typename Op::State*>(args.states)[static_cast<int64_t>(o) * args.parts + blockIdx.y] = state;
  }
}

/// Outputs whose elements lie side by side, `width` of them a thread's: `packets` threads have so many outputs, and the
/// others of a block the elements further down.
template <class Op, class Index, int threads, int packets, bool flat, int width, bool aligned>
inline void reduce_columns(const ReduceArgs& args) {
  using State = typename Op::State;
  constexpr int lanes = threads / packets, warps = threads / 32, columns = packets * width, at_once = 4;
  const int packet = static_cast<int>(threadIdx.x % packets), warp = static_cast<int>(threadIdx.x / 32);
  const int64_t begin = static_cast<int64_t>(blockIdx.x) * columns, first = begin + packet * width;
  const Index n = static_cast<Index>(args.n), part = static_cast<Index>(args.part);
  const Index start = static_cast<Index>(blockIdx.y) * part, end = n - start < part ? n : start + part;
  const bool is_there = first < args.outputs;
  const Place<Index> place(args, is_there ? static_cast<Index>(first) : 0);
  typename Op::Running running[width];
#pragma unroll
  for (int i = 0; i < width; ++i) running[i].start(args, is_there ? first + i : 0);
  for (Index r = start + threadIdx.x / packets; is_there && r < end; r += lanes * at_once) {
    Packet<typename Op::Element, width> rows[at_once];
#pragma unroll
    for (int u = 0; u < at_once; ++u)
      if (r + u * lanes < end)
        rows[u] = Op::template load<width, aligned>(args, place.in + reduced_offset<flat, Index>(args, r + u * lanes));
#pragma unroll
    for (int u = 0; u < at_once; ++u) {
      if (r + u * lanes >= end) break;
#pragma unroll
      for (int i = 0; i < width; ++i) running[i].take(args, rows[u].values[i], static_cast<int64_t>(r + u * lanes));
    }
  }
  alignas(16) __shared__ char memory[warps * columns * sizeof(State)];
  State* shared = reinterpret_cast<State*>(memory);
#pragma unroll
  for (int i = 0; i < width; ++i) {
    const State state = joined<threads, Op>(running[i].state(), packets, 32);
    if (threadIdx.x % 32 < packets) shared[warp * columns + packet * width + i] = state;
  }
  __syncthreads();
  const int64_t o = begin + threadIdx.x;
  if (threadIdx.x >= columns || o >= args.outputs) return;
  State state = shared[threadIdx.x];
  constexpr int turns = std::is_floating_point_v<State> || std::is_integral_v<State> ? 8 : 1;  // others are long
#pragma unroll turns
  for (int w = 1; w < warps; ++w) state = Op::join(state, shared[w * columns + threadIdx.x]);
  if (args.parts == 1) {
    Op::emit(args, state, o, Place<Index>(args, static_cast<Index>(o)).out);
  } else {
    reinterpret_cast<State*>(args.states)[o * args.parts + blockIdx.y] = state;
  }
}

/// What the parts of an output have, joined by `group` threads.
template <class Op, int threads, int group>
inline void reduce_parts(const ReduceArgs& args) {
  using State = typename Op::State;
  const int lane = static_cast<int>(threadIdx.x % group);
  const int64_t o = static_cast<int64_t>(blockIdx.x) * (threads / group) + threadIdx.x / group;
  const bool is_there = o < args.outputs;
  const State* states = reinterpret_cast<const State*>(args.states) + (is_there ? o : 0) * args.parts;
  typename Op::Running nothing;
  nothing.start(args, 0);
  State state = lane < args.parts ? states[lane] : nothing.state();
  for (int i = lane + group; i < args.parts; i += group) state = Op::join(state, states[i]);
  state = joined<threads, Op>(state, 1, group);
  if (!is_there || lane != 0) return;
  const Place<int64_t> place(args, o);
  Op::emit(args, state, o, place.out);
}

}  // namespace adjoint::cuda
