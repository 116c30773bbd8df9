// The scores of classes that targets name, weighted and added up in a fixed order, and the way back.
#pragma once

#include "classes_args.h"
#include "core/dtype.h"
#include "kernel.h"

namespace adjoint::cuda {

/// Sums over the threads of a block, for the first of them.
inline void add_up(double& a, double& b) {
  __shared__ double sums[2][32];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (unsigned step = 16; step > 0; step /= 2) {
    a += __shfl_down_sync(~0u, a, step);
    b += __shfl_down_sync(~0u, b, step);
  }
  if (lane == 0) {
    sums[0][warp] = a;
    sums[1][warp] = b;
  }
  __syncthreads();
  if (warp > 0) return;
  a = lane < kClassThreads / 32 ? sums[0][lane] : 0;
  b = lane < kClassThreads / 32 ? sums[1][lane] : 0;
  for (unsigned step = 16; step > 0; step /= 2) {
    a += __shfl_down_sync(~0u, a, step);
    b += __shfl_down_sync(~0u, b, step);
  }
}

/// The type in which such elements are computed with.
template <class T>
using Computed = std::conditional_t<std::is_same_v<T, double>, double, float>;
template <class T>
inline double wide_of(T value) {
  return static_cast<double>(convert<Computed<T>>(value));
}

inline int64_t score_place(const ClassArgs& args, int64_t i, int64_t target) {
  return (i / args.inner * args.count + target) * args.inner + i % args.inner;
}

/// Whether a target names a class; one that should and does not is kept as a fault.
inline bool names_class(const ClassArgs& args, int64_t t) {
  return t != args.ignored && check(t >= 0 && t < args.count, args.fault, FaultKind::Class, 0, t, args.count);
}

template <class T>
inline void finish_scores(const ClassArgs& args, double sum, double weights) {
  if (threadIdx.x > 0) return;
  if (!args.each) *static_cast<T*>(args.loss) = convert<T>(args.mean ? sum / weights : sum);
  *static_cast<T*>(args.total) = convert<T>(weights);
}

/// The logarithm of a class's probability.
template <class S, bool has_sums>
inline double log_share(const ClassArgs& args, int64_t row, int64_t place) {
  const S score = static_cast<const S*>(args.scores)[place];
  if constexpr (has_sums) {
    using A = Computed<S>;
    const A* sums = static_cast<const A*>(args.sums) + 2 * row;
    return static_cast<double>(convert<A>(score) - sums[0] - sums[1]);
  } else {
    return wide_of(score);
  }
}

/// Blocks take turns at the targets; one alone is done then. S is the type of the scores, T that of the loss.
template <class T, class S, bool has_sums>
inline void class_scores(const ClassArgs& args) {
  double sum = 0, weights = 0;
#pragma unroll 1
  for (int64_t i = thread_number<int64_t>(); i < args.n; i += args.blocks * kClassThreads) {
    const int64_t t = args.target[i];
    if (!names_class(args, t)) continue;
    const double weight = args.weight ? args.weight[t] : 1.0;
    const double term = -log_share<S, has_sums>(args, i, score_place(args, i, t)) * weight;
    if (args.each) static_cast<T*>(args.loss)[i] = convert<T>(term);
    sum += term;
    weights += weight;
  }
  add_up(sum, weights);
  if (args.blocks == 1) return finish_scores<T>(args, sum, weights);
  if (threadIdx.x == 0) {
    args.parts[2 * blockIdx.x] = sum;
    args.parts[2 * blockIdx.x + 1] = weights;
  }
}

template <class T>
inline void sum_class_parts(const ClassArgs& args) {
  double sum = 0, weights = 0;
  for (int64_t i = threadIdx.x; i < args.blocks; i += kClassThreads) {
    sum += args.parts[2 * i];
    weights += args.parts[2 * i + 1];
  }
  add_up(sum, weights);
  finish_scores<T>(args, sum, weights);
}

/// The gradient in the score of a target that names a class.
template <class T>
inline double slope_of(const ClassArgs& args, const void* slopes, int64_t i, int64_t target) {
  const double share = args.mean ? 1.0 / wide_of(*static_cast<const T*>(args.total)) : 1.0;
  const double weight = args.weight ? args.weight[target] : 1.0;
  return -wide_of(static_cast<const T*>(slopes)[args.each ? i : 0]) * weight * share;
}

template <class T>
inline void class_scores_backward(const ClassArgs& args) {
  const int64_t i = thread_number<int64_t>();
  if (i >= args.n) return;
  const int64_t t = args.target[i];
  if (!names_class(args, t)) return;
  static_cast<T*>(args.loss)[score_place(args, i, t)] = convert<T>(slope_of<T>(args, args.slopes, i, t));
}

}  // namespace adjoint::cuda
