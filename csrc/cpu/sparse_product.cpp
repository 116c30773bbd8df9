// Products of sparse matrices with dense ones, row by row: the order of a sum does not depend on the number of threads.
#include <algorithm>
#include <atomic>
#include <vector>

#include "cpu/parallel.h"
#include "cpu/sparse.h"
#include "cpu/sparse_product_isa.h"

namespace adjoint::cpu {
namespace {

const int64_t* ints(const View& view) { return reinterpret_cast<const int64_t*>(view.data); }

template <class T>
using SumOf = std::conditional_t<is_half_v<T>, float, std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>>;

/// The same as SparseLoops::add_rows, of any type.
template <class T>
bool add_rows(const int64_t* order, int64_t first, int64_t last, const int64_t* column, const T* value, const T* dense,
              int64_t stride, int64_t limit, T* out, int64_t width) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    return chosen<SparseLoops<T>>.add_rows(order, first, last, column, value, dense, stride, limit, out, width);
  } else {
    std::vector<SumOf<T>> sums(width);
    for (int64_t i = first; i < last; ++i) {
      const int64_t e = order ? order[i] : i, row = column[e];
      if (static_cast<uint64_t>(row) >= static_cast<uint64_t>(limit)) return false;
      const auto factor = convert<SumOf<T>>(value[e]);
      for (int64_t j = 0; j < width; ++j)
        sums[j] = static_cast<SumOf<T>>(sums[j] + factor * convert<SumOf<T>>(dense[row * stride + j]));
    }
    for (int64_t j = 0; j < width; ++j) out[j] = convert<T>(sums[j]);
    return true;
  }
}

template <class T>
T dot(const T* a, const T* b, int64_t n) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    return chosen<SparseLoops<T>>.dot(a, b, n);
  } else {
    SumOf<T> sum{};
    for (int64_t j = 0; j < n; ++j)
      sum = static_cast<SumOf<T>>(sum + convert<SumOf<T>>(a[j]) * convert<SumOf<T>>(b[j]));
    return convert<T>(sum);
  }
}

}  // namespace

bool sparse_product(const kernels::SparseRows& rows, const View& dense, const View& out) {
  const int64_t count = out.sizes[0], width = out.sizes[1], entries = rows.columns.numel();
  const int64_t* starts = ints(rows.starts);
  const int64_t* order = rows.order ? ints(*rows.order) : nullptr;
  std::atomic<bool> good = true;
  dispatch(out.dtype, [&](auto tag) {
    using T = decltype(tag);
    const auto* value = reinterpret_cast<const T*>(rows.values.data);
    const auto* from = reinterpret_cast<const T*>(dense.data);
    auto* to = reinterpret_cast<T*>(out.data);
    const int64_t work =
        std::max<int64_t>(1, (entries / std::max<int64_t>(count, 1) + 1) * std::max<int64_t>(width, 1));
    parallel_for(count, std::max<int64_t>(1, (1 << 14) / work), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        // Starts that a program has changed may lead anywhere.
        const int64_t first = starts[i], last = starts[i + 1];
        if (first < 0 || last > entries ||
            !add_rows(order, first, std::max(first, last), ints(rows.columns), value, from, dense.strides[0],
                      dense.sizes[0], to + i * width, width))
          good = false;
      }
    });
  });
  return good;
}

bool sparse_sampled(const View& row, const View& column, const View& first, const View& second, const View& out) {
  const int64_t n = out.numel(), width = first.sizes[1];
  std::atomic<bool> good = true;
  dispatch(out.dtype, [&](auto tag) {
    using T = decltype(tag);
    const auto *a = reinterpret_cast<const T*>(first.data), *b = reinterpret_cast<const T*>(second.data);
    auto* to = reinterpret_cast<T*>(out.data);
    parallel_for(n, std::max<int64_t>(1, (1 << 14) / std::max<int64_t>(width, 1)), [&](int64_t begin, int64_t end) {
      for (int64_t e = begin; e < end; ++e) {
        const int64_t i = ints(row)[e], j = ints(column)[e];
        if (static_cast<uint64_t>(i) >= static_cast<uint64_t>(first.sizes[0]) ||
            static_cast<uint64_t>(j) >= static_cast<uint64_t>(second.sizes[0])) {
          good = false;
        } else {
          to[e] = dot(a + i * first.strides[0], b + j * second.strides[0], width);
        }
      }
    });
  });
  return good;
}

}  // namespace adjoint::cpu
