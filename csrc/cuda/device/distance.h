// Cross products, and p-norms of differences of rows with their gradients.
#pragma once

#include "core/dtype.h"
#include "distance_args.h"
#include "kernel.h"

namespace adjoint::cuda {

/// Each thread has one vector of three elements.
template <class T, class Wide>
inline void cross(const CrossArgs& args) {
  int64_t rest = thread_number<int64_t>(), at[3] = {};
  if (rest >= args.numel) return;
#pragma unroll 1
  for (int d = args.ndim - 1; d >= 0; --d) {
    const int64_t place = rest % args.sizes[d];
    rest /= args.sizes[d];
    for (int v = 0; v < 3; ++v) at[v] += place * args.strides[v][d];
  }
  T* out = reinterpret_cast<T*>(args.data[0]) + at[0];
  const T *a = reinterpret_cast<const T*>(args.data[1]) + at[1], *b = reinterpret_cast<const T*>(args.data[2]) + at[2];
  Wide x[3], y[3];
  for (int i = 0; i < 3; ++i) x[i] = convert<Wide>(a[i * args.parts[1]]), y[i] = convert<Wide>(b[i * args.parts[2]]);
  for (int i = 0; i < 3; ++i) {
    const int next = (i + 1) % 3, last = (i + 2) % 3;
    out[i * args.parts[0]] = convert<T>(x[next] * y[last] - x[last] * y[next]);
  }
}

// ---- One small class per kind of norm. g times the derivative of the distance `norm` to d is
// term(factor(g, norm), d, norm).

/// Terms are added up.
template <class T>
struct SumNorm {
  T merge(T a, T b) const { return a + b; }
};
/// sum |d|^p ^ (1/p)
template <class T>
struct AnyNorm : SumNorm<T> {
  T p;
  explicit AnyNorm(double power) : p(static_cast<T>(power)) {}
  T add(T total, T d) const { return total + std::pow(std::abs(d), p); }
  T finish(T total) const { return std::pow(total, 1 / p); }
  T factor(T g, T norm) const { return norm == 0 ? T(0) : g; }
  T term(T factor, T d, T norm) const {
    return d == 0 || norm == 0 ? T(0) : factor * std::copysign(std::pow(std::abs(d) / norm, p - 1), d);
  }
};
/// The number of differences.
template <class T>
struct ZeroNorm : SumNorm<T> {
  explicit ZeroNorm(double) {}
  T add(T total, T d) const { return total + (d != 0 ? T(1) : T(0)); }
  T finish(T total) const { return total; }
  T factor(T, T) const { return T(0); }
  T term(T, T, T) const { return T(0); }
};
template <class T>
struct OneNorm : SumNorm<T> {
  explicit OneNorm(double) {}
  T add(T total, T d) const { return total + std::abs(d); }
  T finish(T total) const { return total; }
  T factor(T g, T) const { return g; }
  T term(T factor, T d, T) const { return d > 0 ? factor : d < 0 ? -factor : T(0); }
};
template <class T>
struct TwoNorm : SumNorm<T> {
  explicit TwoNorm(double) {}
  T add(T total, T d) const { return total + d * d; }
  T finish(T total) const { return std::sqrt(total); }
  T factor(T g, T norm) const { return norm == 0 ? T(0) : g / norm; }
  T term(T factor, T d, T) const { return factor * d; }
};
template <class T>
struct GreatestNorm {
  explicit GreatestNorm(double) {}
  T add(T total, T d) const { return merge(total, std::abs(d)); }
  /// NaN wins.
  T merge(T a, T b) const { return b != b || b > a ? b : a; }
  T finish(T total) const { return total; }
  T factor(T g, T) const { return g; }
  T term(T factor, T d, T norm) const { return d == norm ? factor : d == -norm ? -factor : T(0); }
};

// ---- Distances of all pairs of rows: tiles of 64 x 64 of them, 4 x 4 for each thread

inline constexpr int kPairSide = 64, kPairDepth = 16, kPairEach = 4, kPairThreads = 256;

template <class T>
inline void load_rows(T (*tile)[kPairSide + kPairEach], const T* from, int64_t first, int64_t count, int64_t depth,
                      int64_t size) {
#pragma unroll
  for (int round = 0; round < kPairSide * kPairDepth / kPairThreads; ++round) {
    const int number = round * kPairThreads + static_cast<int>(threadIdx.x), i = number / kPairDepth;
    const int l = number % kPairDepth;
    tile[l][i] = first + i < count && depth + l < size ? from[(first + i) * size + depth + l] : T(0);
  }
}

template <class T, class Norm>
inline void all_distances(const DistanceArgs& args) {
  alignas(16) __shared__ T left[kPairDepth][kPairSide + kPairEach];
  alignas(16) __shared__ T right[kPairDepth][kPairSide + kPairEach];
  const Norm norm(args.p);
  const int64_t tiles_across = (args.m + kPairSide - 1) / kPairSide;
  const int64_t row = blockIdx.x / tiles_across * kPairSide, col = blockIdx.x % tiles_across * kPairSide;
  const int down = static_cast<int>(threadIdx.x) / kPairDepth * kPairEach;
  const int across = static_cast<int>(threadIdx.x) % kPairDepth * kPairEach;
  for (int64_t number = blockIdx.y; number < args.batch; number += gridDim.y) {
    const T* first = reinterpret_cast<const T*>(args.first) + number * args.n * args.size;
    const T* second = reinterpret_cast<const T*>(args.second) + number * args.m * args.size;
    T totals[kPairEach][kPairEach];
#pragma unroll
    for (int i = 0; i < kPairEach * kPairEach; ++i) totals[i / kPairEach][i % kPairEach] = T(0);
    for (int64_t depth = 0; depth < args.size; depth += kPairDepth) {
      load_rows(left, first, row, args.n, depth, args.size);
      load_rows(right, second, col, args.m, depth, args.size);
      __syncthreads();
      for (int l = 0; l < kPairDepth; ++l) {
#pragma unroll
        for (int i = 0; i < kPairEach; ++i) {
#pragma unroll
          for (int j = 0; j < kPairEach; ++j)
            totals[i][j] = norm.add(totals[i][j], left[l][down + i] - right[l][across + j]);
        }
      }
      __syncthreads();
    }
    T* out = reinterpret_cast<T*>(args.out) + number * args.n * args.m;
    for (int i = 0; i < kPairEach; ++i)
      for (int j = 0; j < kPairEach; ++j)
        if (const int64_t r = row + down + i, c = col + across + j; r < args.n && c < args.m)
          out[r * args.m + c] = norm.finish(totals[i][j]);
  }
}

/// Each thread has one element of the gradient.
template <class T, class Norm>
inline void all_slopes(const DistanceArgs& args) {
  const int64_t number = thread_number<int64_t>();
  if (number >= args.batch * args.n * args.size) return;
  const Norm norm(args.p);
  const int64_t row = number / args.size, entry = row / args.n;
  const T mine = reinterpret_cast<const T*>(args.first)[number];
  const T* others = reinterpret_cast<const T*>(args.second) + entry * args.m * args.size + number % args.size;
  const T* grad = reinterpret_cast<const T*>(args.grad) + row * args.m;
  const T* distances = reinterpret_cast<const T*>(args.distances) + row * args.m;
  T sum = T(0);
  for (int64_t j = 0; j < args.m; ++j)
    sum += norm.term(norm.factor(grad[j], distances[j]), mine - others[j * args.size], distances[j]);
  reinterpret_cast<T*>(args.out)[number] = sum;
}

// ---- Distances of each pair of rows of one matrix

/// Where the distances of row i to the rows after it begin.
inline int64_t pairs_before(int64_t i, int64_t n) { return i * (2 * n - i - 1) / 2; }

/// The first row of a pair.
inline int64_t first_of(int64_t pair, int64_t n) {
  const double half = static_cast<double>(n) - 0.5;
  const double under = half * half - 2.0 * static_cast<double>(pair);
  int64_t i = static_cast<int64_t>(half - std::sqrt(under > 0 ? under : 0.0));
  // What the root was rounded by.
  while (i > 0 && pairs_before(i, n) > pair) --i;
  while (i + 1 < n && pairs_before(i + 1, n) <= pair) ++i;
  return i;
}

/// Each warp has one pair.
template <class T, class Norm>
inline void pair_distances(const DistanceArgs& args) {
  const int64_t pair = thread_number<int64_t>() / 32, count = args.n * (args.n - 1) / 2;
  if (pair >= count) return;
  const Norm norm(args.p);
  const int64_t i = first_of(pair, args.n), j = i + 1 + pair - pairs_before(i, args.n);
  const T* rows = reinterpret_cast<const T*>(args.first);
  T total = T(0);
  for (int64_t d = threadIdx.x % 32; d < args.size; d += 32)
    total = norm.add(total, rows[i * args.size + d] - rows[j * args.size + d]);
#pragma unroll
  for (int step = 16; step > 0; step /= 2) total = norm.merge(total, __shfl_xor_sync(0xffffffffu, total, step));
  if (threadIdx.x % 32 == 0) reinterpret_cast<T*>(args.out)[pair] = norm.finish(total);
}

/// Each thread has one element of the gradient.
template <class T, class Norm>
inline void pair_slopes(const DistanceArgs& args) {
  const int64_t number = thread_number<int64_t>(), i = number / args.size, d = number % args.size;
  if (number >= args.n * args.size) return;
  const Norm norm(args.p);
  const T* rows = reinterpret_cast<const T*>(args.first);
  T sum = T(0);
  for (int64_t j = 0; j < args.n; ++j) {
    if (i == j) continue;
    const int64_t low = i < j ? i : j, high = i < j ? j : i, pair = pairs_before(low, args.n) + high - low - 1;
    const T distance = reinterpret_cast<const T*>(args.distances)[pair];
    const T factor = norm.factor(reinterpret_cast<const T*>(args.grad)[pair], distance);
    sum += norm.term(factor, rows[number] - rows[j * args.size + d], distance);
  }
  reinterpret_cast<T*>(args.out)[number] = sum;
}

}  // namespace adjoint::cuda
