#include "cpu/embedding_bag.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#include "cpu/parallel.h"
#include "cpu/reduce_monoid.h"

namespace adjoint::cpu {
namespace {

using kernels::BagFault;
using kernels::BagMode;

/// Half types add up as float.
template <class T>
using Wide = std::conditional_t<is_half_v<T>, float, T>;

template <class F>
void with_float(DType dtype, F f) {
  dispatch(dtype, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_floating_point_v<T> || is_half_v<T>) f(tag);
  });
}

struct Bags {
  const int64_t *index, *start;
  int64_t indices, starts, count;

  explicit Bags(const kernels::Bags& bags)
      : index(bags.indices.as<const int64_t>()),
        start(bags.starts.as<const int64_t>()),
        indices(bags.indices.numel()),
        starts(bags.starts.numel()),
        count(bags.count) {}
  int64_t begin(int64_t bag) const { return start[bag]; }
  int64_t end(int64_t bag) const { return bag + 1 < starts ? start[bag + 1] : indices; }
};

/// The sum of the rows of a bag, `kTile` columns at a time in registers. Returns the number of rows.
template <class T>
int64_t sum_bag(const Bags& bags, int64_t bag, const T* table, int64_t width, const T* factors, int64_t padding,
                Wide<T>* total) {
  using A = Wide<T>;
  using V = typename VectorOf<A>::type;
  constexpr int kWidth = sizeof(V) / sizeof(A), kVectors = 8;
  const int64_t *index = bags.index, begin = bags.begin(bag), end = bags.end(bag);
  int64_t used = 0, k = 0;
  for (int64_t i = begin; i < end; ++i) used += index[i] != padding;
  if constexpr (!is_half_v<T>) {
    for (; k + kVectors * kWidth <= width; k += kVectors * kWidth) {
      V sum[kVectors] = {};
      for (int64_t i = begin; i < end; ++i) {
        if (index[i] == padding) continue;
        const T* row = table + index[i] * width + k;
        if (factors) {
#pragma GCC unroll 8
          for (int v = 0; v < kVectors; ++v) sum[v] += factors[i] * load_vector<V>(row + v * kWidth);
        } else {
#pragma GCC unroll 8
          for (int v = 0; v < kVectors; ++v) sum[v] += load_vector<V>(row + v * kWidth);
        }
      }
      std::memcpy(total + k, sum, sizeof(sum));
    }
  }
  std::fill(total + k, total + width, A(0));
  for (int64_t i = begin; k < width && i < end; ++i) {
    if (index[i] == padding) continue;
    const T* row = table + index[i] * width;
    A factor = factors ? static_cast<A>(factors[i]) : A(1);
    for (int64_t c = k; c < width; ++c) total[c] += factor * static_cast<A>(row[c]);
  }
  return used;
}

/// The greatest elements of the rows of a bag, and their rows. The first of equals; zeros for an empty bag.
template <class T>
void greatest_of_bag(const Bags& bags, int64_t bag, const T* table, int64_t width, int64_t padding, Wide<T>* total,
                     int64_t* rows) {
  const int64_t* index = bags.index;
  bool first = true;
  std::fill_n(total, width, Wide<T>(0));
  for (int64_t i = bags.begin(bag); i < bags.end(bag); ++i) {
    if (index[i] == padding) continue;
    const T* row = table + index[i] * width;
    for (int64_t k = 0; k < width; ++k)
      if (first || static_cast<Wide<T>>(row[k]) > total[k]) total[k] = row[k], rows[k] = index[i];
    first = false;
  }
}

template <class T>
void fold_bag(const Bags& bags, int64_t bag, const T* table, int64_t width, const T* factors, bool greatest, bool mean,
              int64_t padding, Wide<T>* total, int64_t* details, T* out) {
  Wide<T> divisor = 1;
  if (greatest) {
    greatest_of_bag(bags, bag, table, width, padding, total, details);
  } else {
    details[0] = sum_bag(bags, bag, table, width, factors, padding, total);
    if (mean && details[0] > 0) divisor = static_cast<Wide<T>>(details[0]);
  }
  for (int64_t k = 0; k < width; ++k) out[k] = T(total[k] / divisor);
}

/// Adds the gradient of each bag to the rows that it came from; `total` is zero.
template <class T>
void add_to_rows(const kernels::Bags& bags, const T* grad, const T* factors, const int64_t* owner,
                 const int64_t* details, bool by_frequency, int64_t rows, int64_t width, Wide<T>* total) {
  using A = Wide<T>;
  const int64_t *index = bags.indices.as<const int64_t>(), count = bags.indices.numel();
  std::vector<int64_t> uses;
  if (by_frequency) {
    uses.resize(static_cast<size_t>(rows));
    for (int64_t i = 0; i < count; ++i) ++uses[index[i]];
  }
  // Each thread adds to rows of its own, so the sums have one order.
  int64_t pieces = std::max<int64_t>(1, num_threads());
  parallel_for(pieces, count * width < 32768 ? pieces : 1, [&](int64_t begin, int64_t end) {
    int64_t first = rows * begin / pieces, last = rows * end / pieces;
    for (int64_t i = 0; i < count; ++i) {
      int64_t row = index[i];
      if (row < first || row >= last || row == bags.padding || owner[i] < 0) continue;
      A factor = factors ? static_cast<A>(factors[i]) : A(1);
      if (bags.mode == BagMode::Mean) factor /= static_cast<A>(details[owner[i]]);
      if (by_frequency) factor /= static_cast<A>(uses[row]);
      const T* from = grad + owner[i] * width;
      A* to = total + row * width;
      for (int64_t k = 0; k < width; ++k) to[k] += factor * static_cast<A>(from[k]);
    }
  });
}

/// The same for greatest elements, which `details` names the rows of.
template <class T>
void add_to_greatest(const kernels::Bags& bags, const T* grad, const int64_t* owner, const int64_t* details,
                     int64_t bag_count, int64_t width, Wide<T>* total) {
  const int64_t *index = bags.indices.as<const int64_t>(), count = bags.indices.numel();
  std::vector<bool> full(static_cast<size_t>(bag_count));
  for (int64_t i = 0; i < count; ++i)
    if (owner[i] >= 0 && index[i] != bags.padding) full[owner[i]] = true;
  for (int64_t b = 0; b < bag_count; ++b)
    for (int64_t k = 0; full[b] && k < width; ++k)
      total[details[b * width + k] * width + k] += static_cast<Wide<T>>(grad[b * width + k]);
}

}  // namespace

BagFault bag_fault(const View& indices, const View& starts, int64_t rows) {
  const int64_t *start = starts.as<const int64_t>(), *index = indices.as<const int64_t>();
  const int64_t count = indices.numel(), last = starts.numel() - 1;
  if (last >= 0 && start[0] != 0) return {BagFault::FirstOffset, 0, start[0], 0};
  if (last >= 0 && start[last] > count) return {BagFault::LastOffset, last, start[last], 0};
  for (int64_t b = 1; b <= last; ++b)
    if (start[b] < start[b - 1]) return {BagFault::Decrease, b, start[b], start[b - 1]};
  for (int64_t i = 0; i < count; ++i)
    if (index[i] < 0 || index[i] >= rows) return {BagFault::Index, i, index[i], 0};
  return {};
}

void embedding_bag(const kernels::Bags& given, const View& table, const View* factors, const View& out,
                   const View& owner, const View& details) {
  const Bags bags(given);
  const int64_t width = table.sizes[1], length = bags.indices;
  const bool greatest = given.mode == BagMode::Max, mean = given.mode == BagMode::Mean;
  auto *owners = owner.as<int64_t>(), *detail = details.as<int64_t>();
  std::fill_n(detail, details.numel(), int64_t{0});
  // Indices after the last offset are in no bag.
  std::fill_n(owners, length, int64_t{-1});
  for (int64_t bag = 0; bag < bags.count; ++bag) std::fill(owners + bags.begin(bag), owners + bags.end(bag), bag);
  with_float(table.dtype, [&](auto tag) {
    using T = decltype(tag);
    const int64_t step = greatest ? width : 1;
    std::vector<Wide<T>> totals(static_cast<size_t>(bags.count > 0 ? width * num_threads() : 0));
    const int64_t pieces = std::min<int64_t>(num_threads(), bags.count);
    parallel_for(pieces, length * width < 32768 ? pieces : 1, [&](int64_t first, int64_t last) {
      for (int64_t bag = bags.count * first / pieces; bag < bags.count * last / pieces; ++bag)
        fold_bag<T>(bags, bag, table.as<const T>(), width, data_of<const T>(factors), greatest, mean, given.padding,
                    totals.data() + first * width, detail + bag * step, out.as<T>() + bag * width);
    });
  });
}

void embedding_bag_table_grad(const kernels::Bags& bags, const View& grad, const View* factors, const View& owner,
                              const View& details, bool by_frequency, const View& out) {
  const int64_t rows = out.sizes[0], width = out.sizes[1];
  const auto *owners = owner.as<const int64_t>(), *detail = details.as<const int64_t>();
  with_float(grad.dtype, [&](auto tag) {
    using T = decltype(tag);
    // Half types are added up in float.
    std::vector<Wide<T>> wide(is_half_v<T> ? static_cast<size_t>(rows * width) : 0);
    Wide<T>* total;
    if constexpr (is_half_v<T>) {
      total = wide.data();
    } else {
      total = out.as<T>();
      std::fill_n(total, rows * width, T(0));
    }
    const T* from = grad.as<const T>();
    bags.mode == BagMode::Max
        ? add_to_greatest<T>(bags, from, owners, detail, grad.sizes[0], width, total)
        : add_to_rows<T>(bags, from, data_of<const T>(factors), owners, detail, by_frequency, rows, width, total);
    if constexpr (is_half_v<T>)
      std::transform(wide.begin(), wide.end(), out.as<T>(), [](float value) { return T(value); });
  });
}

void embedding_bag_factors_grad(const kernels::Bags& bags, const View& grad, const View& table, const View& owner,
                                const View& out) {
  const int64_t *index = bags.indices.as<const int64_t>(), *owners = owner.as<const int64_t>();
  const int64_t width = table.sizes[1];
  with_float(table.dtype, [&](auto tag) {
    using T = decltype(tag);
    parallel_for(
        out.numel(), std::max<int64_t>(1, 16384 / std::max<int64_t>(1, width)), [&](int64_t first, int64_t last) {
          for (int64_t i = first; i < last; ++i) {
            Wide<T> sum = 0;
            const T *from = grad.as<const T>() + owners[i] * width, *row = table.as<const T>() + index[i] * width;
            for (int64_t k = 0; owners[i] >= 0 && index[i] != bags.padding && k < width; ++k)
              sum += static_cast<Wide<T>>(from[k]) * static_cast<Wide<T>>(row[k]);
            out.as<T>()[i] = T(sum);
          }
        });
  });
}

}  // namespace adjoint::cpu
