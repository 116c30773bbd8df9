// Entries sorted by their keys, digit by digit, and sums of those that have the same.
#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <utility>

#include "cpu/parallel.h"
#include "cpu/sparse.h"

namespace adjoint::cpu {
namespace {

constexpr int kMaxDigitBits = 11;
/// Entries that one thread sorts into piles. Fixed, so that nothing depends on the number of threads.
constexpr int64_t kRun = 1 << 15;

struct Entry {
  uint64_t key;
  int64_t place;
};

/// One pass of a stable sort: by the `bits` of the keys above `shift`.
void sort_by_digit(const Entry* in, Entry* out, int64_t n, int shift, int bits, int64_t* counts) {
  const int64_t piles = int64_t{1} << bits, mask = piles - 1, runs = (n + kRun - 1) / kRun;
  parallel_for(runs, 1, [&](int64_t begin, int64_t end) {
    for (int64_t run = begin; run < end; ++run) {
      int64_t* own = counts + run * piles;
      std::fill(own, own + piles, 0);
      for (int64_t i = run * kRun; i < std::min(n, (run + 1) * kRun); ++i) ++own[in[i].key >> shift & mask];
    }
  });
  int64_t total = 0;
  for (int64_t pile = 0; pile < piles; ++pile)
    for (int64_t run = 0; run < runs; ++run) total += std::exchange(counts[run * piles + pile], total);
  parallel_for(runs, 1, [&](int64_t begin, int64_t end) {
    for (int64_t run = begin; run < end; ++run) {
      int64_t* place = counts + run * piles;
      for (int64_t i = run * kRun; i < std::min(n, (run + 1) * kRun); ++i)
        out[place[in[i].key >> shift & mask]++] = in[i];
    }
  });
}

}  // namespace

int64_t sparse_group(const View& keys, int64_t bound, const View& order, const View& groups, const View& starts) {
  const int64_t n = keys.numel();
  const auto* key = reinterpret_cast<const uint64_t*>(keys.data);
  auto* place = reinterpret_cast<int64_t*>(order.data);
  auto* group = reinterpret_cast<int64_t*>(groups.data);
  auto* start = reinterpret_cast<int64_t*>(starts.data);
  int64_t found = 0;
  auto note = [&](int64_t i, int64_t entry, bool fresh) {
    if (fresh) start[found++] = i;
    place[i] = entry;
    group[entry] = found - 1;
  };
  if (std::is_sorted(key, key + n)) {
    for (int64_t i = 0; i < n; ++i) note(i, i, i == 0 || key[i] != key[i - 1]);
    start[found] = n;
    return found;
  }
  const int width = std::max<int>(1, std::bit_width(static_cast<uint64_t>(std::max<int64_t>(bound - 1, 1))));
  const int passes = (width + kMaxDigitBits - 1) / kMaxDigitBits, bits = (width + passes - 1) / passes;
  auto first = std::make_unique_for_overwrite<Entry[]>(n), second = std::make_unique_for_overwrite<Entry[]>(n);
  auto counts = std::make_unique_for_overwrite<int64_t[]>(((n + kRun - 1) / kRun) << bits);
  parallel_for(n, kRun, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) first[i] = {key[i], i};
  });
  for (int pass = 0; pass < passes; ++pass) {
    sort_by_digit(first.get(), second.get(), n, pass * bits, bits, counts.get());
    std::swap(first, second);
  }
  for (int64_t i = 0; i < n; ++i) note(i, first[i].place, i == 0 || first[i].key != first[i - 1].key);
  start[found] = n;
  return found;
}

namespace {

/// What sums of a type are kept in.
template <class T>
using SumOf = std::conditional_t<is_half_v<T>, float, T>;

template <class T>
void sum_rows(const T* values, const int64_t* order, const int64_t* starts, T* out, int64_t groups, int64_t width) {
  const int64_t grain = std::max<int64_t>(1, (1 << 14) / std::max<int64_t>(width, 1));
  parallel_for(groups, grain, [&](int64_t begin, int64_t end) {
    for (int64_t group = begin; group < end; ++group) {
      T* row = out + group * width;
      const int64_t first = starts[group], last = starts[group + 1];
      const T* one = values + order[first] * width;
      if (last == first + 1) {
        std::copy(one, one + width, row);
        continue;
      }
      for (int64_t j = 0; j < width; ++j) {
        auto sum = convert<SumOf<T>>(one[j]);
        for (int64_t e = first + 1; e < last; ++e) {
          if constexpr (std::is_same_v<T, bool>)
            sum = sum || values[order[e] * width + j];
          else
            sum = static_cast<SumOf<T>>(sum + convert<SumOf<T>>(values[order[e] * width + j]));
        }
        row[j] = convert<T>(sum);
      }
    }
  });
}

}  // namespace

void sparse_sum_groups(const View& values, const View& order, const View& starts, const View& out) {
  const int64_t groups = out.sizes[0], width = groups ? out.numel() / groups : 0;
  if (!groups || !width) return;
  dispatch(values.dtype, [&](auto tag) {
    using T = decltype(tag);
    sum_rows(reinterpret_cast<const T*>(values.data), reinterpret_cast<const int64_t*>(order.data),
             reinterpret_cast<const int64_t*>(starts.data), reinterpret_cast<T*>(out.data), groups, width);
  });
}

}  // namespace adjoint::cpu
