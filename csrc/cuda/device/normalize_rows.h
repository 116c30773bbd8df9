// Layer norm and rms norm of rows, and their gradients. A is the type computed in; In, Out and the others are those of
// elements.
#pragma once

#include "normalize_args.h"
#include "reduce_ops.h"
#include "rows.h"

namespace adjoint::cuda {

template <class A, class S>
inline A element(const char* data, int64_t i) {
  return convert<A>(reinterpret_cast<const S*>(data)[i]);
}

/// One of a vector that may not be there.
template <class A, class S>
inline A element_or(const char* data, int64_t i, A otherwise) {
  return data ? element<A, S>(data, i) : otherwise;
}

/// Neighbours of a vector that may not be there, from `first` on.
template <class A, class S, int width, bool packed>
inline Packet<A, width> packet_or(const char* data, int first, int64_t step, int n, A otherwise) {
  Packet<A, width> result;
#pragma unroll
  for (int i = 0; i < width; ++i) result.values[i] = otherwise;
  if (!data || first >= n) return result;
  if constexpr (packed) {
    const auto packet = load_packet<width, true>(reinterpret_cast<const S*>(data) + first);
#pragma unroll
    for (int i = 0; i < width; ++i) result.values[i] = convert<A>(packet.values[i]);
  } else {
#pragma unroll
    for (int i = 0; i < width; ++i)
      if (first + i < n) result.values[i] = element<A, S>(data, (first + i) * step);
  }
  return result;
}

/// (x - center) scale weight + bias, packet by packet.
template <class A, class W, class B, bool packed, int group, int packets, int width>
inline void normalize(const RowNormArgs& args, RowPart<A, group, packets, width>& part, int lane, int n, A center,
                      A scale) {
#pragma unroll
  for (int p = 0; p < packets; ++p) {
    const int first = (p * group + lane) * width;
    const auto weight = packet_or<A, W, width, packed>(args.weight, first, args.weight_step, n, A(1));
    const auto bias = packet_or<A, B, width, packed>(args.bias, first, args.bias_step, n, A(0));
#pragma unroll
    for (int i = 0; i < width; ++i) {
      A& x = part.values[p * width + i];
      x = (x - center) * scale * weight.values[i] + bias.values[i];
    }
  }
}

template <class A, class In, class Out, class W, class B, class M, class R, int threads, int group, int packets,
          int width, bool packed>
inline void normalize_rows(const RowNormArgs& args) {
  const int64_t r = static_cast<int64_t>(blockIdx.x) * (threads / group) + threadIdx.x / group;
  const int lane = static_cast<int>(threadIdx.x % group), n = static_cast<int>(args.n);
  const bool is_there = r < args.rows, centered = args.mean != nullptr;
  const In* row = reinterpret_cast<const In*>(args.in) + (is_there ? r : 0) * args.in_strides[0];
  // Distances from the first element: the rounding of a large mean does not matter to rows of nearly equal values.
  const A first = centered ? convert<A>(row[0]) : A(0);
  RowPart<A, group, packets, width> part;
  part.template load<In, packed>(row, args.in_strides[1], lane, n, first);
  A center = 0, squares = 0;
#pragma unroll
  for (int i = 0; i < packets * width; ++i) part.values[i] -= first;
  if (centered) {
#pragma unroll
    for (int i = 0; i < packets * width; ++i) center += part.values[i];
    center = joined_by_all<threads, group, Sums::Of<A>>(center) / static_cast<A>(n);
  }
#pragma unroll
  for (int i = 0; i < packets * width; ++i) {
    const A distance = part.values[i] - center;
    if ((i / width * group + lane) * width + i % width < n) squares += distance * distance;
  }
  squares = joined_by_all<threads, group, Sums::Of<A>>(squares);
  const A scale = 1 / std::sqrt(squares / static_cast<A>(n) + static_cast<A>(args.eps));
  if (!is_there) return;
  Out* out = reinterpret_cast<Out*>(args.out) + r * args.out_strides[0];
  normalize<A, W, B, packed>(args, part, lane, n, center, scale);
  part.template store<Out, packed>(out, args.out_strides[1], lane, n);
  if (lane != 0) return;
  if (centered) reinterpret_cast<M*>(args.mean)[r * args.mean_step] = convert<M>(first + center);
  reinterpret_cast<R*>(args.rstd)[r * args.rstd_step] = convert<R>(scale);
}

template <class A>
struct JoinMoments {
  using State = Moments<A>;
  static State join(State a, State b) { return join_moments(a, b); }
};

/// Rows that are read twice, one a block.
template <class A, class In, class Out, class W, class B, class M, class R, int threads>
inline void normalize_long_rows(const RowNormArgs& args) {
  const int64_t r = blockIdx.x;
  const In* row = reinterpret_cast<const In*>(args.in) + r * args.in_strides[0];
  Out* out = reinterpret_cast<Out*>(args.out) + r * args.out_strides[0];
  const bool centered = args.mean != nullptr;
  const ReduceArgs none = {};
  typename MomentsOf<A, A>::Running running[2];
  for (auto& one : running) one.start(none, 0);
  for (int64_t i = threadIdx.x; i < args.n; i += 2 * threads) {
    running[0].take(none, convert<A>(row[i * args.in_strides[1]]), 0);
    if (i + threads < args.n) running[1].take(none, convert<A>(row[(i + threads) * args.in_strides[1]]), 0);
  }
  Moments<A> moments = join_moments(running[0].state(), running[1].state());
  moments = joined_by_all<threads, threads, JoinMoments<A>>(moments);
  const A n = static_cast<A>(args.n), center = centered ? moments.mean : A(0);
  const A variance = moments.squares / n + (centered ? A(0) : moments.mean * moments.mean);
  const A scale = 1 / std::sqrt(variance + static_cast<A>(args.eps));
  for (int64_t i = threadIdx.x; i < args.n; i += threads)
    out[i * args.out_strides[1]] = convert<Out>((convert<A>(row[i * args.in_strides[1]]) - center) * scale *
                                                    element_or<A, W>(args.weight, i * args.weight_step, A(1)) +
                                                element_or<A, B>(args.bias, i * args.bias_step, A(0)));
  if (threadIdx.x != 0) return;
  if (centered) reinterpret_cast<M*>(args.mean)[r * args.mean_step] = convert<M>(center);
  reinterpret_cast<R*>(args.rstd)[r * args.rstd_step] = convert<R>(scale);
}

// ---- Backward

/// Sums over a row: of b = g weight, and of b n, where n is the normal element.
template <class A>
struct RowSums {
  struct State {
    A plain, product;
  };
  static State join(State a, State b) { return {a.plain + b.plain, a.product + b.product}; }
};

/// Adds what the groups of a block have of each column, group after group, and writes the block's sums.
template <class A, int threads, int group, int count>
inline void write_column_sums(char* to, const A (&mine)[count], int width, int lane, int n) {
  A* sums = reinterpret_cast<A*>(to) + static_cast<int64_t>(blockIdx.x) * n;
  auto column = [&](int i) { return (i / width * group + lane) * width + i % width; };
  if constexpr (group == threads) {
#pragma unroll
    for (int i = 0; i < count; ++i)
      if (column(i) < n) sums[column(i)] = mine[i];
  } else {
    constexpr int warps = threads / 32, columns = group * count;
    alignas(16) __shared__ char memory[warps * columns * sizeof(A)];
    A* shared = reinterpret_cast<A*>(memory);
    const int warp = static_cast<int>(threadIdx.x / 32);
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const A sum = joined<threads, Sums::Of<A>>(mine[i], group, 32);
      if (threadIdx.x % 32 < group) shared[warp * columns + column(i)] = sum;
    }
    __syncthreads();
    for (int c = static_cast<int>(threadIdx.x); c < n; c += threads) {
      A sum = shared[c];
#pragma unroll
      for (int w = 1; w < warps; ++w) sum += shared[w * columns + c];
      sums[c] = sum;
    }
    __syncthreads();
  }
}

/// Adds up what the blocks have written of a column: 8 columns a block, its lanes take turns at the bands.
template <class A, class W, class B, int threads>
inline void add_bands(const BandArgs& args) {
  constexpr int columns = 8, warps = threads / 32;
  const int which = args.out[0] ? static_cast<int>(blockIdx.y) : 1;
  const int64_t c = static_cast<int64_t>(blockIdx.x) * columns + threadIdx.x % columns;
  const A* bands = reinterpret_cast<const A*>(args.bands[which]);
  A sum = 0;
  if (c < args.n) {
#pragma unroll 4
    for (int64_t band = threadIdx.x / columns; band < args.count; band += threads / columns)
      sum += bands[band * args.n + c];
  }
  sum = joined<threads, Sums::Of<A>>(sum, columns, 32);
  __shared__ A shared[warps][columns];
  if (threadIdx.x % 32 < columns) shared[threadIdx.x / 32][threadIdx.x % columns] = sum;
  __syncthreads();
  if (threadIdx.x >= columns || c >= args.n) return;
#pragma unroll
  for (int w = 1; w < warps; ++w) sum += shared[w][threadIdx.x];
  if (which == 0) {
    reinterpret_cast<W*>(args.out[0])[c * args.out_step[0]] = convert<W>(sum);
  } else {
    reinterpret_cast<B*>(args.out[1])[c * args.out_step[1]] = convert<B>(sum);
  }
}

/// A block has rows that are as far apart as there are groups of threads: the gradients of its rows, and its part of
/// those of the parameters.
template <class A, class G, class In, class Out, class W, class M, class R, bool input, bool params, int threads,
          int group, int packets, int width, bool packed>
inline void normalize_rows_backward(const RowNormArgs& args) {
  constexpr int groups = threads / group, count = packets * width;
  const int lane = static_cast<int>(threadIdx.x % group), n = static_cast<int>(args.n);
  const int64_t step = static_cast<int64_t>(gridDim.x) * groups;
  A weight_sum[count] = {}, bias_sum[count] = {};
  // All threads of a warp stay until its last row: they shuffle together.
  for (int64_t begin = static_cast<int64_t>(blockIdx.x) * groups; begin < args.rows; begin += step) {
    const int64_t r = begin + threadIdx.x / group;
    const bool is_there = r < args.rows;
    const int64_t at = is_there ? r : 0;
    RowPart<A, group, packets, width> g, x;
    g.template load<G, packed>(reinterpret_cast<const G*>(args.g) + at * args.g_strides[0], args.g_strides[1], lane,
                               is_there ? n : 0, A(0));
    x.template load<In, packed>(reinterpret_cast<const In*>(args.in) + at * args.in_strides[0], args.in_strides[1],
                                lane, is_there ? n : 0, A(0));
    const A center = element_or<A, M>(args.mean, at * args.mean_step, A(0));
    const A scale = element<A, R>(args.rstd, at * args.rstd_step);
#pragma unroll
    for (int i = 0; i < count; ++i) x.values[i] = (x.values[i] - center) * scale;
    if constexpr (params) {
      if (is_there) {
#pragma unroll
        for (int i = 0; i < count; ++i) {
          weight_sum[i] += g.values[i] * x.values[i];
          bias_sum[i] += g.values[i];
        }
      }
    }
    if constexpr (input) {
      typename RowSums<A>::State sums = {0, 0};
#pragma unroll
      for (int p = 0; p < packets; ++p) {
        const int first = (p * group + lane) * width;
        const auto weight = packet_or<A, W, width, packed>(args.weight, first, args.weight_step, n, A(1));
#pragma unroll
        for (int i = 0; i < width; ++i) {
          A& b = g.values[p * width + i];
          b *= weight.values[i];
          sums.plain += b;
          if (first + i < n) sums.product += b * x.values[p * width + i];
        }
      }
      sums = joined_by_all<threads, group, RowSums<A>>(sums);
      const A average = args.mean ? sums.plain / static_cast<A>(n) : A(0), slope = sums.product / static_cast<A>(n);
#pragma unroll
      for (int i = 0; i < count; ++i) g.values[i] = scale * (g.values[i] - average - x.values[i] * slope);
      g.template store<Out, packed>(reinterpret_cast<Out*>(args.out) + at * args.out_strides[0], args.out_strides[1],
                                    lane, is_there ? n : 0);
    }
  }
  if constexpr (params) {
    if (args.weight_sums) write_column_sums<A, threads, group>(args.weight_sums, weight_sum, width, lane, n);
    if (args.bias_sums) write_column_sums<A, threads, group>(args.bias_sums, bias_sum, width, lane, n);
  }
}

/// The gradient of one long row a block.
template <class A, class G, class In, class Out, class W, class M, class R, int threads>
inline void normalize_long_rows_backward(const RowNormArgs& args) {
  const int64_t r = blockIdx.x;
  const G* g = reinterpret_cast<const G*>(args.g) + r * args.g_strides[0];
  const In* in = reinterpret_cast<const In*>(args.in) + r * args.in_strides[0];
  Out* out = reinterpret_cast<Out*>(args.out) + r * args.out_strides[0];
  const A center = element_or<A, M>(args.mean, r * args.mean_step, A(0));
  const A scale = element<A, R>(args.rstd, r * args.rstd_step), n = static_cast<A>(args.n);
  auto weighted = [&](int64_t i) {
    return convert<A>(g[i * args.g_strides[1]]) * element_or<A, W>(args.weight, i * args.weight_step, A(1));
  };
  auto normal = [&](int64_t i) { return (convert<A>(in[i * args.in_strides[1]]) - center) * scale; };
  typename RowSums<A>::State sums = {0, 0};
#pragma unroll 4
  for (int64_t i = threadIdx.x; i < args.n; i += threads) {
    const A b = weighted(i);
    sums.plain += b;
    sums.product += b * normal(i);
  }
  sums = joined_by_all<threads, threads, RowSums<A>>(sums);
  const A average = args.mean ? sums.plain / n : A(0), slope = sums.product / n;
  for (int64_t i = threadIdx.x; i < args.n; i += threads)
    out[i * args.out_strides[1]] = convert<Out>(scale * (weighted(i) - average - normal(i) * slope));
}

/// The sums of columns of long rows, over a band of rows: a thread has a column.
template <class A, class G, class In, class M, class R>
inline void long_row_sums(const RowNormArgs& args) {
  const int64_t c = thread_number<int64_t>();
  if (c >= args.n) return;
  const int64_t begin = static_cast<int64_t>(blockIdx.y) * args.band;
  const int64_t end = begin + args.band < args.rows ? begin + args.band : args.rows;
  A weight_sum = 0, bias_sum = 0;
#pragma unroll 4
  for (int64_t r = begin; r < end; ++r) {
    const A g = element<A, G>(args.g, r * args.g_strides[0] + c * args.g_strides[1]);
    const A x = element<A, In>(args.in, r * args.in_strides[0] + c * args.in_strides[1]);
    const A center = element_or<A, M>(args.mean, r * args.mean_step, A(0));
    weight_sum += g * ((x - center) * element<A, R>(args.rstd, r * args.rstd_step));
    bias_sum += g;
  }
  const int64_t at = static_cast<int64_t>(blockIdx.y) * args.n + c;
  if (args.weight_sums) reinterpret_cast<A*>(args.weight_sums)[at] = weight_sum;
  if (args.bias_sums) reinterpret_cast<A*>(args.bias_sums)[at] = bias_sum;
}

}  // namespace adjoint::cuda
