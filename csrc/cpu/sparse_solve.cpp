// Triangular systems of sparse matrices, by substitution: row after row, for all columns at once.
#include <algorithm>
#include <atomic>
#include <vector>

#include "cpu/parallel.h"
#include "cpu/sparse.h"

namespace adjoint::cpu {
namespace {

const int64_t* ints(const View& view) { return reinterpret_cast<const int64_t*>(view.data); }

/// What sums of a type are kept in.
template <class T>
using SumOf = std::conditional_t<is_half_v<T>, float, T>;

/// Columns `begin` up to `end`, which no other thread writes.
template <class T>
bool solve(const kernels::SparseRows& rows, bool upper, bool unit, const View& dense, const View& out, int64_t begin,
           int64_t end) {
  const int64_t n = out.sizes[0], width = out.sizes[1], entries = rows.columns.numel();
  const int64_t *starts = ints(rows.starts), *columns = ints(rows.columns);
  const int64_t* order = rows.order ? ints(*rows.order) : nullptr;
  const auto *value = reinterpret_cast<const T*>(rows.values.data), *from = reinterpret_cast<const T*>(dense.data);
  auto* to = reinterpret_cast<T*>(out.data);
  std::vector<SumOf<T>> sums(end - begin);
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = upper ? n - 1 - step : step, first = starts[i], last = starts[i + 1];
    // Starts that a program has changed may lead anywhere.
    if (first < 0 || last > entries) return false;
    for (int64_t j = begin; j < end; ++j) sums[j - begin] = convert<SumOf<T>>(from[i * dense.strides[0] + j]);
    SumOf<T> diagonal{};
    for (int64_t p = first; p < last; ++p) {
      const int64_t e = order ? order[p] : p, column = columns[e];
      if (static_cast<uint64_t>(column) >= static_cast<uint64_t>(n)) return false;
      const auto factor = convert<SumOf<T>>(value[e]);
      if (column == i) {
        diagonal = diagonal + factor;
      } else if ((column > i) == upper) {
        for (int64_t j = begin; j < end; ++j)
          sums[j - begin] = sums[j - begin] - factor * convert<SumOf<T>>(to[column * width + j]);
      }
    }
    for (int64_t j = begin; j < end; ++j)
      to[i * width + j] = convert<T>(unit ? sums[j - begin] : sums[j - begin] / diagonal);
  }
  return true;
}

}  // namespace

bool sparse_solve(const kernels::SparseRows& rows, bool upper, bool unit, const View& dense, const View& out) {
  const int64_t width = out.sizes[1];
  std::atomic<bool> good = true;
  dispatch(out.dtype, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (!std::is_integral_v<T>) {
      const int64_t work = std::max<int64_t>(1, rows.columns.numel() + out.sizes[0]);
      parallel_for(width, std::max<int64_t>(1, (1 << 14) / work), [&](int64_t begin, int64_t end) {
        if (!solve<T>(rows, upper, unit, dense, out, begin, end)) good = false;
      });
    }
  });
  return good;
}

}  // namespace adjoint::cpu
