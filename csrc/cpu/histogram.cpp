// Histograms: elements of equal parts of a range, and points of a grid of cells.
#include "cpu/histogram.h"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "cpu/parallel.h"
#include "cpu/reduce.h"

namespace adjoint::cpu {
namespace {

/// The bin at a position counted in bins; ranges so wide that positions are NaN fall into the first.
template <class C>
int64_t bin_at(C position, int64_t bins) {
  if (!(position > 0)) return 0;
  return position < static_cast<C>(bins) ? std::min(static_cast<int64_t>(position), bins - 1) : bins - 1;
}

/// Adds to counts[0 .. bins - 1].
template <class T>
void count_elements(const T* data, int64_t n, int64_t bins, double min, double max, int64_t* counts) {
  using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const C low = static_cast<C>(min), high = static_cast<C>(max), width = high - low;
  for (int64_t i = 0; i < n; ++i) {
    const C x = static_cast<C>(data[i]);
    if (!(x >= low && x <= high)) continue;
    ++counts[bin_at((x - low) * static_cast<C>(bins) / width, bins)];
  }
}

constexpr int64_t kParallelElements = 1 << 16;

/// The bins of one dimension.
template <class T>
struct Bins {
  const T* edges;
  int64_t count;
  bool even;

  /// The bin of a value, or -1 if it lies in none.
  int64_t find(T value) const {
    if (!(value >= edges[0] && value <= edges[count])) return -1;
    if (!even) return std::min<int64_t>(std::upper_bound(edges, edges + count + 1, value) - edges - 1, count - 1);
    T part = (value - edges[0]) / (edges[count] - edges[0]);
    int64_t bin = bin_at(part * static_cast<T>(count), count);
    // Rounding may have missed by one.
    if (bin > 0 && value < edges[bin]) return bin - 1;
    return bin + 1 < count && value >= edges[bin + 1] ? bin + 1 : bin;
  }
};

/// Adds the weights of n points, by default 1, to cells.
template <class T>
void fill_cells(const T* points, const T* weights, int64_t n, const std::vector<Bins<T>>& bins, double* cells) {
  for (int64_t i = 0; i < n; ++i, points += bins.size()) {
    int64_t cell = 0;
    for (size_t d = 0; d < bins.size() && cell >= 0; ++d) {
      int64_t bin = bins[d].find(points[d]);
      cell = bin < 0 ? -1 : cell * bins[d].count + bin;
    }
    if (cell >= 0) cells[cell] += weights ? weights[i] : 1;
  }
}

}  // namespace

std::pair<double, double> bounds(const View& in) {
  double least, greatest;
  const int64_t n = in.numel(), size = 1, stride = 1;
  const View all{in.data, in.dtype, 1, &n, &stride};
  amin(all, {reinterpret_cast<char*>(&least), DType::Float64, 1, &size, &stride});
  amax(all, {reinterpret_cast<char*>(&greatest), DType::Float64, 1, &size, &stride});
  return {least, greatest};
}

void histc(const View& in, double min, double max, const View& out) {
  const int64_t n = in.numel(), bins = out.numel(), parts = n < kParallelElements || bins > n ? 1 : num_threads();
  std::vector<int64_t> counts(static_cast<size_t>(bins * parts));
  dispatch(in.dtype, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_floating_point_v<T> || is_half_v<T>) {
      parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
        for (int64_t p = begin; p < end; ++p) {
          int64_t from = n * p / parts, to = n * (p + 1) / parts;
          count_elements(in.as<const T>() + from, to - from, bins, min, max, counts.data() + p * bins);
        }
      });
      for (int64_t b = 0; b < bins; ++b) {
        int64_t total = 0;
        for (int64_t p = 0; p < parts; ++p) total += counts[static_cast<size_t>(p * bins + b)];
        out.as<T>()[b] = convert<T>(static_cast<double>(total));
      }
    }
  });
}

void histogram(const View& points, const View* edges, bool even, const View* weight, const View& out) {
  // Weights are added up in parts that do not depend on the number of threads.
  const int64_t n = points.sizes[0], dims = out.ndim, total = out.numel();
  const int64_t parts = n < kParallelElements || total > n ? 1 : 8;
  std::vector<double> cells(static_cast<size_t>(total * parts));
  dispatch(points.dtype, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_floating_point_v<T>) {
      std::vector<Bins<T>> bins;
      for (int d = 0; d < dims; ++d) bins.push_back({edges[d].as<const T>(), out.sizes[d], even});
      const T* weights = weight ? weight->as<const T>() : nullptr;
      parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
        for (int64_t p = begin; p < end; ++p) {
          int64_t from = n * p / parts, to = n * (p + 1) / parts;
          fill_cells(points.as<const T>() + from * dims, weights ? weights + from : nullptr, to - from, bins,
                     cells.data() + p * total);
        }
      });
      for (int64_t c = 0; c < total; ++c) {
        double sum = 0;
        for (int64_t p = 0; p < parts; ++p) sum += cells[static_cast<size_t>(p * total + c)];
        out.as<T>()[c] = static_cast<T>(sum);
      }
    }
  });
}

}  // namespace adjoint::cpu
