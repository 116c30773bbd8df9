// Vector norms, accumulated in double whatever the input: squares of large floats do not overflow.
#include <cmath>
#include <limits>

#include "cpu/reduce.h"
#include "cpu/reduce_monoid.h"
#include "cpu/reduce_runs_isa.h"

namespace adjoint::cpu {
namespace {

template <class T>
void load_complex_abs(const char* source, int64_t stride, int64_t n, double* target) {
  const std::complex<T>* from = reinterpret_cast<const std::complex<T>*>(source);
  for (int64_t i = 0; i < n; ++i) target[i] = std::abs(complex128(from[i * stride]));
}

/// Complex elements are read as their absolute values; signs of real ones are left to the map.
Reader<double> abs_reader(DType dtype) {
  switch (dtype) {
    case DType::Complex64: return Reader<double>(dtype, load_complex_abs<float>);
    case DType::Complex128: return Reader<double>(dtype, load_complex_abs<double>);
    default: return Reader<double>(dtype);
  }
}

inline constexpr auto kAbs = [](auto x) { return x < 0 ? -x : x; };
inline constexpr auto kSquare = [](auto x) { return x * x; };

/// The Op for ReducerOf: the root of the sum of squares of floats, which are widened as they are added.
struct Length {
  using Element = float;
  using State = double;
  static constexpr bool kOrdered = false;

  Reader<float> reader;
  Writer<double> writer;
  char* out;
  int64_t out_itemsize;

  double row(const float* x, int64_t n, int64_t) const { return chosen<PowerLoops>.squares_of_run(x, n); }
  void panel(const float* x, int64_t step, int64_t n, int64_t lanes, int64_t, double* states) const {
    std::fill(states, states + lanes, 0.0);
    for (int64_t k = 0; k < n; ++k)
      for (int64_t w = 0; w < lanes; ++w) {
        double value = x[k * step + w];
        states[w] += value * value;
      }
  }
  void join(double& left, const double& right) const { left += right; }
  double identity() const { return 0; }
  void emit(const double* states, const Target& target) const {
    double results[kMaxLanes];
    for (int64_t w = 0; w < target.lanes; ++w) results[w] = std::sqrt(states[w]);
    writer.store(results, target.lanes, out + target.offset[0] * out_itemsize, target.step[0]);
  }
};

/// The Op for ReducerOf: the root of the sum of powers.
struct PowerSum {
  using Element = double;
  using State = double;
  static constexpr bool kOrdered = false;

  Reader<double> reader;
  Writer<double> writer;
  char* out;
  int64_t out_itemsize;
  double p;

  double row(const double* x, int64_t n, int64_t) const {
    double powers[kRun];
    chosen<PowerLoops>.powers_of_run(x, n, p, powers);
    return fold_run(powers, n, kIdentityMap, kAdd);
  }
  void panel(const double* x, int64_t step, int64_t n, int64_t lanes, int64_t, double* states) const {
    std::fill(states, states + lanes, 0.0);
    double powers[kMaxLanes];
    for (int64_t k = 0; k < n; ++k) {
      chosen<PowerLoops>.powers_of_run(x + k * step, lanes, p, powers);
      for (int64_t w = 0; w < lanes; ++w) states[w] += powers[w];
    }
  }
  void join(double& left, const double& right) const { left += right; }
  double identity() const { return 0; }
  void emit(const double* states, const Target& target) const {
    double results[kMaxLanes];
    for (int64_t w = 0; w < target.lanes; ++w) results[w] = std::pow(states[w], 1 / p);
    writer.store(results, target.lanes, out + target.offset[0] * out_itemsize, target.step[0]);
  }
};

}  // namespace

void norm(const View& in, const View& out, double p) {
  check_reduced_shape("norm", in, out);
  if (!is_float(out.dtype)) {
    fail("norm: expected a real floating-point output; got ", info(out.dtype).name, "; convert the input first");
  }
  if ((p < 0 || std::isinf(p)) && in.numel() == 0 && out.numel() > 0) {
    fail("linalg.vector_norm cannot compute the ", p,
         " norm on an empty tensor because the operation does not have an "
         "identity; got an empty reduction; use an order from 0 to below inf, or check for emptiness first");
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  auto run = [&](double identity, auto map, auto join, auto finish) {
    run_monoid<double>(in, out, abs_reader(in.dtype), identity, map, join, finish);
  };
  if (p == kInfinity) return run(0, kAbs, kGreater, kIdentityMap);
  if (p == -kInfinity) return run(kInfinity, kAbs, kLess, kIdentityMap);
  if (p == 1) return run(0, kAbs, kAdd, kIdentityMap);
  if (p == 2 && is_float(in.dtype) && in.dtype != DType::Float64) {
    Length length{Reader<float>(in.dtype), Writer<double>(out.dtype), out.data, itemsize(out.dtype)};
    return run_reduction(ReducerOf<Length>(length, in.dtype), in, out, out);
  }
  if (p == 2) return run(0, kSquare, kAdd, [](double total) { return std::sqrt(total); });
  if (p == 0) {
    auto count = [](auto x) {
      if constexpr (std::is_arithmetic_v<decltype(x)>) {
        return x != 0 ? 1.0 : 0.0;
      } else {
        decltype(x) one = {1, 1};
        decltype(x) zero = {};
        return x != 0 ? one : zero;
      }
    };
    return run(0, count, kAdd, kIdentityMap);
  }
  PowerSum powers{abs_reader(in.dtype), Writer<double>(out.dtype), out.data, itemsize(out.dtype), p};
  run_reduction(ReducerOf<PowerSum>(powers, in.dtype), in, out, out);
}

}  // namespace adjoint::cpu
