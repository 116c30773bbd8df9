#include "cpu/ranges.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/parallel.h"

namespace adjoint::cpu {
namespace {

constexpr int64_t kGrain = 1 << 15;

/// The arithmetic of linspace: its own type, float for the half types and for integers.
template <class T>
using Work = std::conditional_t<std::is_same_v<T, double> || is_complex_v<T>, T, float>;

/// Evenly spaced numbers, counted from both ends so that both are met exactly; `map` makes the element of each.
template <class T, class Map>
void fill_spaced(T* data, int64_t steps, const Scalar& start, const Scalar& end, Map map) {
  using W = Work<T>;
  // Through T first: that is where -1 becomes 255 and 3.5 becomes 3.
  W first = convert<W>(start.to<T>()), last = convert<W>(end.to<T>());
  // Counts are real: an infinite part of a complex number leaves the other alone.
  using Count = decltype(std::real(first));
  W step = steps > 1 ? (last - first) / static_cast<Count>(steps - 1) : W(0);
  const int64_t half = steps == 1 ? 1 : steps / 2;
  // Short integers where they will do: there is a vector instruction for their conversion.
  auto fill = [=](auto index, int64_t begin, int64_t stop) {
    using Index = decltype(index);
    const Index middle = static_cast<Index>(std::clamp(half, begin, stop));
    for (Index i = static_cast<Index>(begin); i < middle; ++i) data[i] = convert<T>(map(first + step * Count(i)));
    const Index final = static_cast<Index>(steps - 1), end = static_cast<Index>(stop);
    for (Index i = middle; i < end; ++i) data[i] = convert<T>(map(last - step * Count(final - i)));
  };
  parallel_for(steps, kGrain, [=](int64_t begin, int64_t stop) {
    steps < std::numeric_limits<int32_t>::max() ? fill(int32_t{}, begin, stop) : fill(int64_t{}, begin, stop);
  });
}

}  // namespace

void arange(const View& out, const Scalar& start, const Scalar& step) {
  const int64_t n = out.numel();
  dispatch(out.dtype, [&](auto tag) {
    using T = decltype(tag);
    T* data = out.as<T>();
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      auto first = static_cast<uint64_t>(start.to<int64_t>()), stride = static_cast<uint64_t>(step.to<int64_t>());
      parallel_for(n, kGrain, [=](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) data[i] = static_cast<T>(first + static_cast<uint64_t>(i) * stride);
      });
    } else if constexpr (!is_complex_v<T> && !std::is_same_v<T, bool>) {
      double first = start.to<double>(), stride = step.to<double>();
      parallel_for(n, kGrain, [=](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) data[i] = convert<T>(first + static_cast<double>(i) * stride);
      });
    }
  });
}

void linspace(const View& out, const Scalar& start, const Scalar& end) {
  dispatch(out.dtype, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (!std::is_same_v<T, bool>)
      fill_spaced(out.as<T>(), out.numel(), start, end, [](auto value) { return value; });
  });
}

void logspace(const View& out, const Scalar& start, const Scalar& end, double base) {
  dispatch(out.dtype, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (!std::is_same_v<T, bool>)
      fill_spaced(out.as<T>(), out.numel(), start, end,
                  [base](auto value) { return std::pow(static_cast<decltype(value)>(base), value); });
  });
}

}  // namespace adjoint::cpu
