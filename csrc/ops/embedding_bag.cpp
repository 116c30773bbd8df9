#include "ops/embedding_bag.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/lock.h"
#include "cpu/parallel.h"
#include "cpu/reduce_monoid.h"
#include "ops/memory.h"

namespace adjoint::ops {
namespace {

/// Half types add up as float.
template <class T>
using Wide = std::conditional_t<is_half_v<T>, float, T>;

template <class F>
void with_float(DType dtype, F&& f) {
  dispatch(dtype, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_floating_point_v<T> || is_half_v<T>) {
      f(tag);
    } else {
      fail(
          "Expected tensor for argument #1 'weight' to have one of the following scalar types: Half, BFloat16, "
          "Float, Double; but got torch.",
          info(dtype).legacy_name, "Tensor instead (while checking arguments for embedding_bag)");
    }
  });
}

TensorPtr as_index(const char* name, Tensor* tensor) {
  if (tensor->dtype != DType::Int64 && tensor->dtype != DType::Int32)
    fail("Expected tensor for argument #1 '", name, "' to have one of the following scalar types: Long, Int; but got ",
         "torch.", info(tensor->dtype).legacy_name, "Tensor instead (while checking arguments for embedding_bag)");
  return contiguous(cast(tensor, DType::Int64).get());
}

int64_t grain(int64_t cost) { return std::max<int64_t>(1, 16384 / std::max<int64_t>(1, cost)); }

struct Bags {
  TensorPtr indices, starts;
  int64_t count;

  Bags(const Tensor* weight, Tensor* given, Tensor* offsets, bool include_last_offset)
      : indices(as_index("indices", given)), starts(as_index("offsets", offsets)), count(starts->numel()) {
    if (weight->ndim() != 2 || indices->ndim() != 1 || starts->ndim() != 1)
      fail("embedding_bag: expected a table of rows, and lists of indices and offsets; got shapes ",
           to_string(weight->sizes()), ", ", to_string(given->sizes()), " and ", to_string(offsets->sizes()));
    if (include_last_offset && count-- == 0) fail("include_last_offset: number of offset should be at least 1");
    const int64_t *start = starts->as<int64_t>(), *index = indices->as<int64_t>(), last = starts->numel() - 1;
    if (last >= 0 && start[0] != 0)
      fail(
          "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, "
          "got ",
          start[0]);
    if (last >= 0 && start[last] > indices->numel())
      fail("offsets[-1] can not be greater than input's length ", indices->numel(), " but got offsets[-1] of ",
           start[last]);
    for (int64_t b = 1; b <= last; ++b)
      if (start[b] < start[b - 1])
        fail("embedding_bag: expected offsets that do not decrease; got ", start[b], " after ", start[b - 1]);
    for (int64_t i = 0; i < indices->numel(); ++i)
      if (index[i] < 0 || index[i] >= weight->size(0))
        fail("Index ", i, " of input takes value ", index[i], " which is not in the valid range [0, ", weight->size(0),
             ")");
  }
  int64_t begin(int64_t bag) const { return starts->as<int64_t>()[bag]; }
  int64_t end(int64_t bag) const {
    return bag + 1 < starts->numel() ? starts->as<int64_t>()[bag + 1] : indices->numel();
  }
};

/// The sum of the rows of a bag, `kTile` columns at a time in registers. Returns the number of rows.
template <class T>
int64_t sum_bag(const Bags& bags, int64_t bag, const T* table, int64_t width, const T* factors, int64_t padding,
                Wide<T>* total) {
  using A = Wide<T>;
  using V = typename cpu::VectorOf<A>::type;
  constexpr int kWidth = sizeof(V) / sizeof(A), kVectors = 8;
  const int64_t *index = bags.indices->as<int64_t>(), begin = bags.begin(bag), end = bags.end(bag);
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
          for (int v = 0; v < kVectors; ++v) sum[v] += factors[i] * cpu::load_vector<V>(row + v * kWidth);
        } else {
#pragma GCC unroll 8
          for (int v = 0; v < kVectors; ++v) sum[v] += cpu::load_vector<V>(row + v * kWidth);
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
  const int64_t* index = bags.indices->as<int64_t>();
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

}  // namespace

std::tuple<TensorPtr, TensorPtr, TensorPtr> embedding_bag(Tensor* weight, Tensor* indices, Tensor* offsets,
                                                          const std::string& mode,
                                                          std::optional<Tensor*> per_sample_weights,
                                                          bool include_last_offset, int64_t padding_idx, bool) {
  Bags bags(weight, indices, offsets, include_last_offset);
  int64_t width = weight->size(1);
  bool greatest = mode == "max", mean = mode == "mean";
  const int64_t sizes[] = {bags.count, width}, length = bags.indices->numel();
  TensorPtr result, table = contiguous(weight), factors;
  TensorPtr owner = empty(Sizes(&length, 1), DType::Int64),
            details = empty(Sizes(sizes, greatest ? 2 : 1), DType::Int64);
  if (per_sample_weights) {
    factors = contiguous(*per_sample_weights);
    if (factors->dtype != weight->dtype)
      fail(
          "Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 "
          "'per_sample_weights'; but type torch.",
          info(weight->dtype).legacy_name, "Tensor does not equal torch.", info(factors->dtype).legacy_name,
          "Tensor (while checking arguments for embedding_bag)");
    if (factors->numel() != length) fail("embedding_bag: expected a weight for each index");
  }
  std::fill_n(details->as<int64_t>(), details->numel(), int64_t{0});
  // Indices after the last offset are in no bag.
  std::fill_n(owner->as<int64_t>(), length, int64_t{-1});
  for (int64_t bag = 0; bag < bags.count; ++bag)
    std::fill(owner->as<int64_t>() + bags.begin(bag), owner->as<int64_t>() + bags.end(bag), bag);
  with_float(weight->dtype, [&](auto tag) {
    using T = decltype(tag);
    result = empty(Sizes(sizes, 2), weight->dtype);
    int64_t step = greatest ? width : 1;
    std::vector<Wide<T>> totals(static_cast<size_t>(bags.count > 0 ? width * num_threads() : 0));
    int64_t pieces = std::min<int64_t>(num_threads(), bags.count);
    WithoutLock unlocked(length * width);
    parallel_for(pieces, length * width < 32768 ? pieces : 1, [&](int64_t first, int64_t last) {
      for (int64_t bag = bags.count * first / pieces; bag < bags.count * last / pieces; ++bag)
        fold_bag<T>(bags, bag, table->as<T>(), width, factors ? factors->as<T>() : nullptr, greatest, mean, padding_idx,
                    totals.data() + first * width, details->as<int64_t>() + bag * step, result->as<T>() + bag * width);
    });
  });
  return {std::move(result), std::move(owner), std::move(details)};
}

TensorPtr embedding_bag_weight_grad(Tensor* grad, int64_t rows, Tensor* indices, const std::string& mode,
                                    std::optional<Tensor*> per_sample_weights, Tensor* bags, Tensor* details,
                                    int64_t padding_idx, bool scale_grad_by_freq) {
  TensorPtr g = contiguous(grad), places = as_index("indices", indices), factors;
  if (per_sample_weights) factors = contiguous(*per_sample_weights);
  int64_t width = g->size(1), count = places->numel(), bag_count = g->size(0);
  bool greatest = mode == "max", mean = mode == "mean";
  const int64_t sizes[] = {rows, width};
  const int64_t *index = places->as<int64_t>(), *owner = bags->as<int64_t>(), *detail = details->as<int64_t>();
  TensorPtr result;
  std::vector<int64_t> uses;
  if (scale_grad_by_freq) {
    uses.resize(static_cast<size_t>(rows));
    for (int64_t i = 0; i < count; ++i) ++uses[index[i]];
  }
  with_float(grad->dtype, [&](auto tag) {
    using T = decltype(tag);
    using A = Wide<T>;
    // Half types are added up in float.
    std::vector<A> wide(is_half_v<T> ? static_cast<size_t>(rows * width) : 0);
    result = empty(Sizes(sizes, 2), grad->dtype);
    WithoutLock unlocked(std::max(count, rows) * width);
    A* total;
    if constexpr (is_half_v<T>) {
      total = wide.data();
    } else {
      total = result->as<T>();
      std::fill_n(total, rows * width, A(0));
    }
    const T* gradient = g->as<T>();
    if (greatest) {
      std::vector<bool> full(static_cast<size_t>(bag_count));
      for (int64_t i = 0; i < count; ++i)
        if (owner[i] >= 0 && index[i] != padding_idx) full[owner[i]] = true;
      for (int64_t b = 0; b < bag_count; ++b)
        for (int64_t k = 0; full[b] && k < width; ++k)
          total[detail[b * width + k] * width + k] += static_cast<A>(gradient[b * width + k]);
    } else {
      // Each thread adds to rows of its own, so the sums have one order.
      int64_t pieces = std::max<int64_t>(1, num_threads());
      parallel_for(pieces, count * width < 32768 ? pieces : 1, [&](int64_t begin, int64_t end) {
        int64_t first = rows * begin / pieces, last = rows * end / pieces;
        for (int64_t i = 0; i < count; ++i) {
          int64_t row = index[i];
          if (row < first || row >= last || row == padding_idx || owner[i] < 0) continue;
          A factor = factors ? static_cast<A>(factors->as<T>()[i]) : A(1);
          if (mean) factor /= static_cast<A>(detail[owner[i]]);
          if (scale_grad_by_freq) factor /= static_cast<A>(uses[row]);
          const T* from = gradient + owner[i] * width;
          A* to = total + row * width;
          for (int64_t k = 0; k < width; ++k) to[k] += factor * static_cast<A>(from[k]);
        }
      });
    }
    if constexpr (is_half_v<T>)
      std::transform(wide.begin(), wide.end(), result->as<T>(), [](float value) { return T(value); });
  });
  return result;
}

TensorPtr embedding_bag_sample_grad(Tensor* grad, Tensor* weight, Tensor* indices, Tensor* bags, int64_t padding_idx) {
  TensorPtr g = contiguous(grad), table = contiguous(weight), places = as_index("indices", indices);
  int64_t width = table->size(1), count = places->numel();
  const int64_t *index = places->as<int64_t>(), *owner = bags->as<int64_t>();
  TensorPtr result;
  with_float(weight->dtype, [&](auto tag) {
    using T = decltype(tag);
    result = empty(Sizes(&count, 1), weight->dtype);
    WithoutLock unlocked(count * width);
    parallel_for(count, grain(width), [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        Wide<T> sum = 0;
        const T *from = g->as<T>() + owner[i] * width, *row = table->as<T>() + index[i] * width;
        for (int64_t k = 0; owner[i] >= 0 && index[i] != padding_idx && k < width; ++k)
          sum += static_cast<Wide<T>>(from[k]) * static_cast<Wide<T>>(row[k]);
        result->as<T>()[i] = T(sum);
      }
    });
  });
  return result;
}

}  // namespace adjoint::ops
