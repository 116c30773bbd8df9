#include "ops/searching.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "core/lock.h"
#include "cpu/parallel.h"
#include "cpu/reduce.h"
#include "cpu/search.h"
#include "cpu/sort.h"
#include "ops/memory.h"

namespace adjoint::ops {
namespace {

using Counted = std::tuple<TensorPtr, TensorPtr, TensorPtr>;

TensorPtr row_of(int64_t n, DType dtype) { return empty(Sizes(&n, 1), dtype); }

void check_distinguishable(const char* torch_name, const Tensor* input) {
  if (is_complex(input->dtype))
    fail(ErrorKind::NotImplemented, "\"", torch_name, "\" not implemented for '", info(input->dtype).legacy_name,
         "'; complex numbers have no order: stack their parts and pass dim=");
}

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

TensorPtr counts_of(const std::vector<int64_t>& starts) {
  auto n = static_cast<int64_t>(starts.size()) - 1;
  TensorPtr counts = row_of(n, DType::Int64);
  for (int64_t k = 0; k < n; ++k) counts->as<int64_t>()[k] = starts[k + 1] - starts[k];
  return counts;
}

/// The distinct ones of n > 0 integers that lie close together, counted instead of sorted; nothing where they do not.
std::optional<Counted> count_distinct(Tensor* input, bool return_inverse, bool return_counts) {
  TensorPtr dense = contiguous(input);
  TensorPtr items = cast(dense.get(), DType::Int64);
  const int64_t n = items->numel();
  const int64_t* x = items->as<int64_t>();
  const auto [least, greatest] = cpu::least_and_greatest(x, n);
  const uint64_t span = static_cast<uint64_t>(greatest) - static_cast<uint64_t>(least);
  if (span >= static_cast<uint64_t>(n)) return {};
  std::vector<int64_t> bins(span + 1);
  cpu::bincount(x, n, least, bins.data(), static_cast<int64_t>(bins.size()));
  const auto distinct = static_cast<int64_t>(bins.size() - static_cast<size_t>(std::ranges::count(bins, 0)));
  TensorPtr values = row_of(distinct, DType::Int64), counts = row_of(return_counts ? distinct : 0, DType::Int64);
  int64_t k = 0;
  for (size_t b = 0; b < bins.size(); ++b) {
    if (bins[b] == 0) continue;
    values->as<int64_t>()[k] = least + static_cast<int64_t>(b);
    if (return_counts) counts->as<int64_t>()[k] = bins[b];
    bins[b] = k++;
  }
  TensorPtr inverse = return_inverse ? empty(input->sizes(), DType::Int64) : row_of(0, DType::Int64);
  if (return_inverse)
    for (int64_t i = 0; i < n; ++i) inverse->as<int64_t>()[i] = bins[static_cast<size_t>(x[i] - least)];
  return Counted{cast(values.get(), input->dtype), std::move(inverse), std::move(counts)};
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

/// The number of entries (i, j) of a row by col matrix with j <= i + offset.
__int128 entries_below(int64_t row, int64_t col, int64_t offset) {
  auto sum_to = [col](int64_t t) -> __int128 {
    if (t <= 0) return 0;
    __int128 ramp = std::min(t, col);
    return ramp * (ramp + 1) / 2 + (t - ramp) * col;
  };
  return sum_to(row + offset) - sum_to(offset);
}

}  // namespace

Counted unique(Tensor* input, bool return_inverse, bool return_counts, bool consecutive) {
  check_distinguishable(consecutive ? "unique_consecutive" : "unique", input);
  int64_t n = input->numel();
  if (n > 0 && !consecutive && is_integral(input->dtype)) {
    if (auto counted = count_distinct(input, return_inverse, return_counts)) return std::move(*counted);
  }
  TensorPtr dense = contiguous(input);
  TensorPtr items = alias(dense.get(), make_shape(Sizes(&n, 1)));
  TensorPtr sorted, order;
  if (!consecutive) {
    sorted = row_of(n, input->dtype);
    order = row_of(n, DType::Int64);
    WithoutLock unlocked(n);
    cpu::sort(items->view(), sorted->view(), order->view(), 0, false);
  }
  Tensor* grouped = consecutive ? items.get() : sorted.get();
  return dispatch(input->dtype, [&](auto tag) -> Counted {
    using T = decltype(tag);
    const T* x = grouped->as<T>();
    const auto same = [x](int64_t i) { return x[i] == x[i - 1]; };
    TensorPtr room = row_of(n, input->dtype);
    T* firsts = room->as<T>();
    TensorPtr values = row_of(each_group(n, same, [=](int64_t k, int64_t i) { firsts[k] = x[i]; }), input->dtype);
    std::copy_n(firsts, values->numel(), values->as<T>());
    std::vector<int64_t> starts;
    if (return_inverse || return_counts) starts = group_starts(n, same);
    TensorPtr inverse = return_inverse ? empty(input->sizes(), DType::Int64) : row_of(0, DType::Int64);
    if (return_inverse) number_items(starts, order ? order->as<int64_t>() : nullptr, inverse->as<int64_t>());
    return {std::move(values), std::move(inverse), return_counts ? counts_of(starts) : row_of(0, DType::Int64)};
  });
}

Counted unique_rows(Tensor* input, bool consecutive) {
  if (input->ndim() != 2) fail("unique_rows: expected a matrix; got ", input->ndim(), " dimensions");
  check_distinguishable("unique_dim", input);
  int64_t n = input->size(0), m = input->size(1);
  TensorPtr dense = contiguous(input);
  return dispatch(input->dtype, [&](auto tag) -> Counted {
    using T = decltype(tag);
    if constexpr (is_complex_v<T>) {
      fail("unique_rows: complex numbers have no order");
    } else {
      const T* data = dense->as<T>();
      std::vector<int64_t> order(static_cast<size_t>(n));
      std::iota(order.begin(), order.end(), 0);
      if (!consecutive) sort_rows(data, m, order);
      std::vector<int64_t> starts = group_starts(n, [&](int64_t i) {
        const T* row = data + order[i] * m;
        return std::equal(row, row + m, data + order[i - 1] * m);
      });
      auto distinct = static_cast<int64_t>(starts.size()) - 1;
      TensorPtr first = row_of(distinct, DType::Int64), inverse = row_of(n, DType::Int64);
      for (int64_t k = 0; k < distinct; ++k) first->as<int64_t>()[k] = order[starts[k]];
      number_items(starts, order.data(), inverse->as<int64_t>());
      return {std::move(first), std::move(inverse), counts_of(starts)};
    }
  });
}

TensorPtr histc(Tensor* input, int64_t bins, double min, double max) {
  if (bins <= 0) fail("torch.histogram(): bins must be > 0, but got ", bins, " for dimension 0");
  if (!is_float(input->dtype))
    fail(ErrorKind::NotImplemented, "\"histogram_cpu\" not implemented for '", info(input->dtype).legacy_name,
         "'; convert the input with .float()");
  int64_t n = input->numel();
  TensorPtr dense = contiguous(input);
  if (min == max && n > 0) {
    // The least and the greatest element, in double.
    double bounds[2];
    const int64_t size = 1, stride = 1;
    View all{dense->data, dense->dtype, 1, &n, &stride};
    cpu::amin(all, {reinterpret_cast<char*>(&bounds[0]), DType::Float64, 1, &size, &stride});
    cpu::amax(all, {reinterpret_cast<char*>(&bounds[1]), DType::Float64, 1, &size, &stride});
    min = bounds[0];
    max = bounds[1];
  }
  if (min == max) {
    min -= 1;
    max += 1;
  }
  if (!std::isfinite(min) || !std::isfinite(max))
    fail("torch.histc: range of [", min, ", ", max, "] is not finite; give min and max");
  if (min > max) fail("torch.histc: max must be larger than min; got [", min, ", ", max, "]");
  TensorPtr result = row_of(bins, input->dtype);
  int64_t parts = n < kParallelElements || bins > n ? 1 : num_threads();
  std::vector<int64_t> counts(static_cast<size_t>(bins * parts));
  {
    WithoutLock unlocked(n);
    dispatch(input->dtype, [&](auto tag) {
      using T = decltype(tag);
      if constexpr (std::is_floating_point_v<T> || is_half_v<T>) {
        parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
          for (int64_t p = begin; p < end; ++p) {
            int64_t from = n * p / parts, to = n * (p + 1) / parts;
            count_elements(dense->as<T>() + from, to - from, bins, min, max, counts.data() + p * bins);
          }
        });
      }
    });
  }
  dispatch(input->dtype, [&](auto tag) {
    using T = decltype(tag);
    for (int64_t b = 0; b < bins; ++b) {
      int64_t total = 0;
      for (int64_t p = 0; p < parts; ++p) total += counts[static_cast<size_t>(p * bins + b)];
      result->as<T>()[b] = convert<T>(static_cast<double>(total));
    }
  });
  return result;
}

TensorPtr histogram_cells(Tensor* input, const std::vector<Tensor*>& edges, bool even, std::optional<Tensor*> weight) {
  DType type = input->dtype;
  if (type != DType::Float32 && type != DType::Float64) fail_not_implemented("histogramdd", type);
  auto dims = edges.size();
  if (input->ndim() != 2 || input->size(1) != static_cast<int64_t>(dims) || dims == 0 || dims > kMaxDims)
    fail("histogram: expected points with as many coordinates as there are edges");
  int64_t n = input->size(0), sizes[kMaxDims];
  std::vector<TensorPtr> packed;
  for (size_t d = 0; d < dims; ++d) {
    if (edges[d]->ndim() != 1 || edges[d]->dtype != type || edges[d]->numel() < 2)
      fail("histogram: expected a row of two edges or more in the type of the points");
    packed.push_back(contiguous(edges[d]));
    sizes[d] = edges[d]->numel() - 1;
  }
  if (weight && ((*weight)->numel() != n || (*weight)->dtype != type))
    fail("histogram: expected one weight for each point, in the type of the points");
  TensorPtr points = contiguous(input), weights = weight ? contiguous(*weight) : TensorPtr();
  TensorPtr result = empty(Sizes(sizes, dims), type);
  // Weights are added up in parts that do not depend on the number of threads.
  int64_t total = result->numel(), parts = n < kParallelElements || total > n ? 1 : 8;
  std::vector<double> cells(static_cast<size_t>(total * parts));
  dispatch(type, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_floating_point_v<T>) {
      std::vector<Bins<T>> bins;
      for (size_t d = 0; d < dims; ++d) bins.push_back({packed[d]->as<T>(), sizes[d], even});
      WithoutLock unlocked(n);
      parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
        for (int64_t p = begin; p < end; ++p) {
          int64_t from = n * p / parts, to = n * (p + 1) / parts;
          fill_cells(points->as<T>() + from * static_cast<int64_t>(dims), weights ? weights->as<T>() + from : nullptr,
                     to - from, bins, cells.data() + p * total);
        }
      });
      for (int64_t c = 0; c < total; ++c) {
        double sum = 0;
        for (int64_t p = 0; p < parts; ++p) sum += cells[static_cast<size_t>(p * total + c)];
        result->as<T>()[c] = static_cast<T>(sum);
      }
    }
  });
  return result;
}

TensorPtr triangle_indices(int64_t row, int64_t col, int64_t offset, bool lower, std::optional<DType> dtype) {
  if (row < 0) fail("row must be non-negative, got", row);
  if (col < 0) fail("col must be non-negative, got", col);
  DType type = dtype.value_or(DType::Int64);
  if (type != DType::Int64 && type != DType::Int32)
    fail(ErrorKind::NotImplemented, "\"", lower ? "tril" : "triu", "_indices\" not implemented for '",
         info(type).legacy_name, "'; choose int64 or int32");
  if (std::max(row, col) > int64_t{1} << 61) fail("a triangle of ", row, " by ", col, " has too many entries");
  offset = std::clamp(offset, -row - 1, col + 1);
  // Of row i the columns from first(i) up to last(i); other rows than those from `begin` to `end` have none.
  auto first = [&](int64_t i) { return lower ? 0 : std::clamp<int64_t>(i + offset, 0, col); };
  auto last = [&](int64_t i) { return lower ? std::clamp<int64_t>(i + offset + 1, 0, col) : col; };
  int64_t begin = lower ? std::max<int64_t>(0, -offset) : 0, end = lower ? row : std::min(row, col - offset);
  __int128 entries = entries_below(row, col, lower ? offset : offset - 1);
  if (!lower) entries = static_cast<__int128>(row) * col - entries;
  if (entries > INT64_MAX) fail("a triangle of ", row, " by ", col, " has too many entries");
  int64_t sizes[2] = {2, static_cast<int64_t>(entries)};
  TensorPtr result = empty(Sizes(sizes, 2), type);
  if (entries == 0) return result;
  auto fill = [&](auto* rows) {
    using Index = std::remove_reference_t<decltype(*rows)>;
    Index* columns = rows + sizes[1];
    for (int64_t i = begin; i < end; ++i)
      for (int64_t j = first(i); j < last(i); ++j) {
        *rows++ = static_cast<Index>(i);
        *columns++ = static_cast<Index>(j);
      }
  };
  type == DType::Int64 ? fill(result->as<int64_t>()) : fill(result->as<int32_t>());
  return result;
}

}  // namespace adjoint::ops
