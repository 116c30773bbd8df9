// Elements looked up and counted: places in sorted rows, counts of values, histograms.
#pragma once

#include "core/dtype.h"
#include "search_args.h"
#include "walk.h"

namespace adjoint::cuda {

/// Each thread has a value. Written so that nan is after everything.
template <class T, class Index>
inline void searchsorted(const SearchArgs& args) {
  using C = std::conditional_t<is_half_v<T>, float, T>;
  const Index number = thread_number<Index>();
  if (number >= static_cast<Index>(args.walk.numel)) return;
  Index at[3];
  walk_to(args.walk, number, at);
  const C value = convert<C>(reinterpret_cast<const T*>(args.values)[at[0]]);
  const T* row = reinterpret_cast<const T*>(args.sorted) + at[2];
  int64_t low = 0, high = args.length;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    const C element = convert<C>(row[middle * args.step]);
    if (args.right ? element > value : element >= value) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  args.out[at[1]] = low;
}

/// Adds up what bin(i) says of all elements, -1 being no bin.
template <bool near, class Bin>
inline void count_bins(const CountArgs& args, Bin bin) {
  __shared__ unsigned mine[near ? kNearBins : 1];
  if (near) {
    for (int64_t b = threadIdx.x; b < args.bins; b += kCountThreads) mine[b] = 0;
    __syncthreads();
  }
  for (int64_t i = thread_number<int64_t>(); i < args.n; i += args.blocks * kCountThreads) {
    const int64_t b = bin(i);
    if (b < 0) continue;
    if (near) {
      atomicAdd(&mine[b], 1u);
    } else {
      atomicAdd(&args.counts[b], 1ull);
    }
  }
  if (!near) return;
  __syncthreads();
  for (int64_t b = threadIdx.x; b < args.bins; b += kCountThreads)
    if (mine[b]) atomicAdd(&args.counts[b], static_cast<unsigned long long>(mine[b]));
}

template <bool near>
inline void bincount(const CountArgs& args) {
  count_bins<near>(args, [&](int64_t i) {
    const int64_t bin = reinterpret_cast<const int64_t*>(args.values)[i];
    return bin < args.bins ? bin : -1;
  });
}

/// The bin at a position counted in bins; ranges so wide that positions are NaN fall into the first.
template <class C>
inline int64_t bin_at(C position, int64_t bins) {
  if (!(position > 0)) return 0;
  return position < static_cast<C>(bins) ? std::min(static_cast<int64_t>(position), bins - 1) : bins - 1;
}

template <class T, bool near>
inline void histc(const CountArgs& args) {
  using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const C low = static_cast<C>(args.least), high = static_cast<C>(args.greatest), width = high - low;
  count_bins<near>(args, [&](int64_t i) {
    const C x = convert<C>(reinterpret_cast<const T*>(args.values)[i]);
    if (!(x >= low && x <= high)) return static_cast<int64_t>(-1);
    return bin_at((x - low) * static_cast<C>(args.bins) / width, args.bins);
  });
}

/// The cell of one dimension in which a value lies, or -1.
template <class T>
inline int64_t cell_of(const T* edges, int64_t count, bool even, T value) {
  if (!(value >= edges[0] && value <= edges[count])) return -1;
  if (!even) {
    int64_t low = 0, high = count + 1;
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (edges[middle] > value) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return std::min(low - 1, count - 1);
  }
  const T part = (value - edges[0]) / (edges[count] - edges[0]);
  const int64_t bin = bin_at(part * static_cast<T>(count), count);
  // Rounding may have missed by one.
  if (bin > 0 && value < edges[bin]) return bin - 1;
  return bin + 1 < count && value >= edges[bin + 1] ? bin + 1 : bin;
}

template <class T, bool near>
inline void histogram(const CountArgs& args) {
  count_bins<near>(args, [&](int64_t i) {
    int64_t cell = 0;
    for (int d = 0; d < args.dims && cell >= 0; ++d) {
      const int64_t bin = cell_of(reinterpret_cast<const T*>(args.edges[d]), args.cells[d], args.even != 0,
                                  reinterpret_cast<const T*>(args.values)[i * args.dims + d]);
      cell = bin < 0 ? -1 : cell * args.cells[d] + bin;
    }
    return cell;
  });
}

/// NaN where one of them is.
template <class C>
inline C lesser(C a, C b) {
  return a != a ? a : b != b ? b : a < b ? a : b;
}
template <class C>
inline C greater(C a, C b) {
  return a != a ? a : b != b ? b : a > b ? a : b;
}

/// C is what they are compared in and written as.
template <class T, class C>
inline void bounds(const BoundsArgs& args) {
  __shared__ C least[32], greatest[32];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  C low = convert<C>(reinterpret_cast<const T*>(args.values)[0]), high = low;
  for (int64_t i = thread_number<int64_t>(); i < args.n; i += args.blocks * kCountThreads) {
    const C x = convert<C>(reinterpret_cast<const T*>(args.values)[i]);
    low = lesser(low, x);
    high = greater(high, x);
  }
  for (unsigned step = 16; step > 0; step /= 2) {
    low = lesser(low, __shfl_xor_sync(~0u, low, static_cast<int>(step)));
    high = greater(high, __shfl_xor_sync(~0u, high, static_cast<int>(step)));
  }
  if (lane == 0) {
    least[warp] = low;
    greatest[warp] = high;
  }
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (int w = 1; w < kCountThreads / 32; ++w) {
    low = lesser(low, least[w]);
    high = greater(high, greatest[w]);
  }
  C* out = reinterpret_cast<C*>(args.bounds) + 2 * blockIdx.x;
  out[0] = low;
  out[1] = high;
}

}  // namespace adjoint::cuda
