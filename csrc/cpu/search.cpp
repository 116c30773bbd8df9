// Places in sorted rows, and counts of values.
#include "cpu/search.h"

#include <algorithm>
#include <type_traits>

#include "cpu/indexing.h"
#include "cpu/parallel.h"
#include "cpu/reduce_runs_isa.h"

namespace adjoint::cpu {
namespace {

using namespace indexing;

/// The first place whose element is not before `value`: `right` counts equal elements as before it. Written so that nan
/// is after everything.
template <class C, class T>
int64_t insertion_place(const T* sorted, int64_t step, int64_t n, C value, bool right) {
  int64_t low = 0, high = n;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    const C element = static_cast<C>(sorted[middle * step]);
    const bool reached = right ? element > value : element >= value;
    (reached ? high : low) = reached ? middle : middle + 1;
  }
  return low;
}

}  // namespace

std::pair<int64_t, int64_t> least_and_greatest(const int64_t* values, int64_t n) {
  int64_t least, greatest;
  chosen<RangeLoops>.least_and_greatest(values, n, &least, &greatest);
  return {least, greatest};
}

void bincount(const int64_t* values, int64_t n, int64_t first, int64_t* counts, int64_t bins) {
  std::fill_n(counts, bins, 0);
#pragma GCC unroll 4
  for (int64_t i = 0; i < n; ++i) ++counts[values[i] - first];
}

std::pair<int64_t, int64_t> least_and_greatest(const View& values) {
  return least_and_greatest(values.as<const int64_t>(), values.numel());
}

void bincount(const View& values, const View& counts) {
  bincount(values.as<const int64_t>(), values.numel(), 0, counts.as<int64_t>(), counts.numel());
}

void searchsorted(const View& sorted, const View& values, const View& out, bool right) {
  int64_t line_strides[kMaxDims];
  for (int d = 0; d < values.ndim; ++d) line_strides[d] = d + 1 < sorted.ndim ? sorted.strides[d] : 0;
  const Walk<3> walk(values.ndim, values.sizes, {values.strides, out.strides, line_strides});
  const int64_t length = sorted.sizes[sorted.ndim - 1], step = sorted.strides[sorted.ndim - 1];
  dispatch(sorted.dtype, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (!is_complex_v<T> && !std::is_same_v<T, bool>) {
      using C = std::conditional_t<is_half_v<T>, float, T>;
      parallel_for(walk.numel, kGrain / 16, [&](int64_t begin, int64_t end) {
        walk.run(begin, end, [&](const int64_t* at, int64_t n, const int64_t*) {
          const T* value = values.as<const T>() + at[0];
          int64_t* place = out.as<int64_t>() + at[1];
          const T* line = sorted.as<const T>() + at[2];
          for (int64_t i = 0; i < n; ++i) {
            place[i * walk.inner_stride(1)] = insertion_place<C>(
                line + i * walk.inner_stride(2), step, length, static_cast<C>(value[i * walk.inner_stride(0)]), right);
          }
        });
      });
    }
  });
}

}  // namespace adjoint::cpu
