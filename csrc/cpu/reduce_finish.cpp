// Means, and what else is left to do with the results of reductions.
#include <cmath>
#include <memory>

#include "core/dtype.h"
#include "cpu/copy.h"
#include "cpu/reduce.h"

namespace adjoint::cpu {
namespace {

template <class F>
void update(const View& values, F f) {
  dispatch(values.dtype, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_floating_point_v<T> || is_complex_v<T>) {
      T* data = values.as<T>();
      const int64_t n = values.numel();
      for (int64_t i = 0; i < n; ++i) data[i] = f(data[i]);
    }
  });
}

}  // namespace

void mean(const View& in, const View& out, double count) {
  if (is_half(out.dtype)) {  // which round once, at the end
    const auto memory = std::make_unique<float[]>(static_cast<size_t>(out.numel()));
    View wide = out;
    wide.dtype = DType::Float32;
    wide.data = reinterpret_cast<char*>(memory.get());
    mean(in, wide, count);
    return copy(wide, out);
  }
  sum(in, out);
  update(out, [count](auto x) {
    if constexpr (std::is_floating_point_v<decltype(x)>) {
      return static_cast<decltype(x)>(x / static_cast<decltype(x)>(count));
    } else {
      // The quotient of complex numbers, as in torch: an infinite part takes the other one with it.
      const auto n = static_cast<typename decltype(x)::value_type>(count);
      return decltype(x)((x.real() + x.imag() * 0) / n, (x.imag() - x.real() * 0) / n);
    }
  });
}

void take_roots(const View& values) {
  update(values, [](auto x) { return std::sqrt(x); });
}

void drop_nans(const View& values) {
  update(values, [](auto x) { return x == x ? x : decltype(x){}; });
}

}  // namespace adjoint::cpu
