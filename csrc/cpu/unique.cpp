// Distinct values and rows: sorted, or counted where they are integers that lie close together.
#include "cpu/unique.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include "core/error.h"
#include "cpu/copy.h"
#include "cpu/search.h"
#include "cpu/sort.h"

namespace adjoint::cpu {
namespace {

/// Calls put(k, i) for each group k of equal neighbours among n items and its first item i, and returns their number;
/// same(i) tells whether item i is as item i - 1. The next group's first item is put before it is known to be one:
/// a condition could not be foreseen.
template <class Same, class Put>
int64_t each_group(int64_t n, const Same& same, const Put& put) {
  if (n == 0) return 0;
  put(0, 0);
  int64_t k = 0;
  for (int64_t i = 1; i < n; ++i) {
    put(k + 1, i);
    k += !same(i);
  }
  return k + 1;
}

/// Where the groups begin, and the end.
template <class Same>
std::vector<int64_t> group_starts(int64_t n, const Same& same) {
  const int64_t groups = each_group(n, same, [](int64_t, int64_t) {});
  std::vector<int64_t> starts(static_cast<size_t>(groups) + 1);
  each_group(n, same, [&](int64_t k, int64_t i) { starts[static_cast<size_t>(k)] = i; });
  starts.back() = n;
  return starts;
}

/// The group of each item; item i of the grouped order is item order[i] of the input (null: i itself).
void number_items(const std::vector<int64_t>& starts, const int64_t* order, int64_t* inverse) {
  for (size_t k = 0; k + 1 < starts.size(); ++k)
    for (int64_t i = starts[k]; i < starts[k + 1]; ++i) inverse[order ? order[i] : i] = static_cast<int64_t>(k);
}

void write_counts(const std::vector<int64_t>& starts, int64_t* counts) {
  for (size_t k = 0; k + 1 < starts.size(); ++k) counts[k] = starts[k + 1] - starts[k];
}

/// The elements of any view, in order and in one row: as they lie, or copied.
class Row {
 public:
  Row(const View& in, DType dtype) : size_(in.numel()), view_{in.data, dtype, 1, &size_, &step_} {
    if (in.dtype == dtype && in.is_packed()) return;
    copied_ = std::make_unique_for_overwrite<char[]>(static_cast<size_t>(size_ * itemsize(dtype)));
    view_.data = copied_.get();
    int64_t strides[kMaxDims], step = 1;
    for (int d = in.ndim - 1; d >= 0; --d) {
      strides[d] = step;
      step *= in.sizes[d];
    }
    copy(in, {view_.data, dtype, in.ndim, in.sizes, strides});
  }
  Row(const Row&) = delete;
  const View& operator*() const { return view_; }

 private:
  int64_t size_, step_ = 1;
  View view_;
  std::unique_ptr<char[]> copied_;
};

/// The distinct ones of n > 0 integers that lie close together, counted instead of sorted; nothing where they do not.
std::optional<int64_t> count_distinct(const View& in, const View& values, const View* inverse, const View* counts) {
  const Row items(in, DType::Int64);
  const int64_t* x = (*items).as<const int64_t>();
  const int64_t n = in.numel();
  const auto [least, greatest] = least_and_greatest(x, n);
  const uint64_t span = static_cast<uint64_t>(greatest) - static_cast<uint64_t>(least);
  if (span >= static_cast<uint64_t>(n)) return {};
  std::vector<int64_t> bins(span + 1);
  bincount(x, n, least, bins.data(), static_cast<int64_t>(bins.size()));
  int64_t k = 0;
  dispatch(values.dtype, [&](auto tag) {
    using T = decltype(tag);
    T* to = values.as<T>();
    for (size_t b = 0; b < bins.size(); ++b) {
      if (bins[b] == 0) continue;
      to[k] = convert<T>(least + static_cast<int64_t>(b));
      if (counts) counts->as<int64_t>()[k] = bins[b];
      bins[b] = k++;
    }
  });
  if (inverse)
    for (int64_t i = 0; i < n; ++i) inverse->as<int64_t>()[i] = bins[static_cast<size_t>(x[i] - least)];
  return k;
}

/// Sorts numbers of rows as std::sort of the GNU library does, and with it torch: among rows with NaN, which is neither
/// before nor after anything, the result depends on which rows meet. Unlike there nothing is read beyond the ends,
/// where such an order that is none may lead.
template <class Before>
class RowSort {
 public:
  RowSort(std::vector<int64_t>& order, Before before) : row_(order), before_(before) {}

  void run() {
    const int64_t n = std::ssize(row_);
    if (n < 2) return;
    split(0, n, 2 * (63 - std::countl_zero(static_cast<uint64_t>(n))));
    for (int64_t i = 1; i < n; ++i) insert(i, i < kFew && before_(row_[i], row_[0]));
  }

 private:
  /// Up to so many rows are left to insertion.
  static constexpr int64_t kFew = 16;

  void split(int64_t first, int64_t last, int depth) {
    while (last - first > kFew) {
      if (depth-- == 0) {
        std::make_heap(row_.begin() + first, row_.begin() + last, before_);
        return std::sort_heap(row_.begin() + first, row_.begin() + last, before_);
      }
      median_to(first, first + 1, first + (last - first) / 2, last - 1);
      const int64_t cut = partition(first + 1, last, row_[first]);
      split(cut, last, depth);
      last = cut;
    }
  }

  bool before_at(int64_t a, int64_t b) const { return before_(row_[a], row_[b]); }

  void median_to(int64_t place, int64_t a, int64_t b, int64_t c) {
    if (!before_at(a, b)) std::swap(a, b);
    const int64_t middle = before_at(b, c) ? b : before_at(a, c) ? c : a;
    std::swap(row_[place], row_[middle]);
  }

  /// The first of the rows that do not come before the pivot, which these are put behind.
  int64_t partition(int64_t first, int64_t last, int64_t pivot) {
    for (;; ++first) {
      while (first < std::ssize(row_) && before_(row_[first], pivot)) ++first;
      --last;
      while (last > 0 && before_(pivot, row_[last])) --last;
      if (first >= last) return first;
      std::swap(row_[first], row_[last]);
    }
  }

  /// Puts a row where it belongs among those to its left.
  void insert(int64_t i, bool at_begin) {
    const int64_t row = row_[i];
    int64_t place = at_begin ? 0 : i;
    while (place > 0 && before_(row, row_[place - 1])) --place;
    std::copy_backward(row_.begin() + place, row_.begin() + i, row_.begin() + i + 1);
    row_[place] = row;
  }

  std::vector<int64_t>& row_;
  Before before_;
};

/// The order of rows of m elements.
template <class T>
void sort_rows(const T* data, int64_t m, std::vector<int64_t>& order) {
  RowSort(order, [=](int64_t a, int64_t b) {
    const T *x = data + a * m, *y = data + b * m;
    for (int64_t i = 0; i < m; ++i)
      if (x[i] < y[i] || x[i] > y[i]) return x[i] < y[i];
    return false;
  }).run();
}

}  // namespace

int64_t unique(const View& in, bool consecutive, const View& values, const View* inverse, const View* counts) {
  const int64_t n = in.numel(), step = 1;
  if (n > 0 && !consecutive && is_integral(in.dtype)) {
    if (auto counted = count_distinct(in, values, inverse, counts)) return *counted;
  }
  const Row items(in, in.dtype);
  std::unique_ptr<char[]> sorted;
  std::unique_ptr<int64_t[]> order;
  if (!consecutive) {
    sorted = std::make_unique_for_overwrite<char[]>(static_cast<size_t>(n * itemsize(in.dtype)));
    order = std::make_unique_for_overwrite<int64_t[]>(static_cast<size_t>(n));
    sort(*items, {sorted.get(), in.dtype, 1, &n, &step},
         {reinterpret_cast<char*>(order.get()), DType::Int64, 1, &n, &step}, 0, false);
  }
  return dispatch(in.dtype, [&](auto tag) -> int64_t {
    using T = decltype(tag);
    const T* x = consecutive ? (*items).as<const T>() : reinterpret_cast<const T*>(sorted.get());
    T* firsts = values.as<T>();
    const auto same = [x](int64_t i) { return x[i] == x[i - 1]; };
    const int64_t distinct = each_group(n, same, [=](int64_t k, int64_t i) { firsts[k] = x[i]; });
    if (!inverse && !counts) return distinct;
    const std::vector<int64_t> starts = group_starts(n, same);
    if (inverse) number_items(starts, order.get(), inverse->as<int64_t>());
    if (counts) write_counts(starts, counts->as<int64_t>());
    return distinct;
  });
}

int64_t unique_rows(const View& in, bool consecutive, const View& firsts, const View& inverse, const View& counts) {
  const int64_t n = in.sizes[0], m = in.sizes[1];
  return dispatch(in.dtype, [&](auto tag) -> int64_t {
    using T = decltype(tag);
    if constexpr (is_complex_v<T>) {
      fail("unique_rows: complex numbers have no order");
    } else {
      const T* data = in.as<const T>();
      std::vector<int64_t> order(static_cast<size_t>(n));
      std::iota(order.begin(), order.end(), 0);
      if (!consecutive) sort_rows(data, m, order);
      const std::vector<int64_t> starts = group_starts(n, [&](int64_t i) {
        const T* row = data + order[i] * m;
        return std::equal(row, row + m, data + order[i - 1] * m);
      });
      const auto distinct = static_cast<int64_t>(starts.size()) - 1;
      for (int64_t k = 0; k < distinct; ++k) firsts.as<int64_t>()[k] = order[starts[k]];
      number_items(starts, order.data(), inverse.as<int64_t>());
      write_counts(starts, counts.as<int64_t>());
      return distinct;
    }
  });
}

}  // namespace adjoint::cpu
