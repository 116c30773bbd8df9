// Sum, product, any and all.
#include <algorithm>

#include "cpu/reduce.h"
#include "cpu/reduce_monoid.h"

namespace adjoint::cpu {
namespace {

/// Signed overflow wraps, as in torch.
inline constexpr auto kAddWrapping = [](int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
};
inline constexpr auto kMultiplyWrapping = [](int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
};
inline constexpr auto kMultiply = [](auto a, auto b) {
  if constexpr (is_complex_v<decltype(a)>) {  // the plain formula, as in fn::mul
    return decltype(a)(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
  } else {
    return a * b;
  }
};

/// Finishes a result as if it had begun with the identity: a sum of -0 is 0.
template <class A, class Join>
auto from_identity(A identity, Join join) {
  return [identity, join](A total) { return join(identity, total); };
}

template <class A, class Join>
void run(const View& in, const View& out, A identity, Join join) {
  run_monoid<A>(in, out, Reader<A>(in.dtype), identity, kIdentityMap, join, from_identity(identity, join));
}

/// Accumulates in the output's type, half types in float, integers in int64.
template <class Join, class JoinInteger>
void accumulate(const View& in, const View& out, int identity, Join join, JoinInteger join_integer) {
  switch (out.dtype) {
    case DType::Float64: return run<double>(in, out, identity, join);
    case DType::Complex64: return run<complex64>(in, out, complex64(static_cast<float>(identity)), join);
    case DType::Complex128: return run<complex128>(in, out, complex128(identity), join);
    case DType::Float32:
    case DType::Float16:
    case DType::BFloat16: return run<float>(in, out, static_cast<float>(identity), join);
    default: return run<int64_t>(in, out, identity, join_integer);
  }
}

/// The Op for ReducerOf: how many truth values are true, counted as bytes.
struct Count {
  using Element = bool;
  using State = int64_t;
  static constexpr bool kOrdered = false;

  Reader<bool> reader;
  Writer<int64_t> writer;
  char* out;
  int64_t out_itemsize;

  int64_t row(const bool* x, int64_t n, int64_t) const {
    static_assert(kRun <= INT32_MAX);
    int32_t total = 0;
    for (int64_t i = 0; i < n; ++i) total += reinterpret_cast<const uint8_t*>(x)[i];
    return total;
  }
  void panel(const bool* x, int64_t step, int64_t n, int64_t lanes, int64_t, int64_t* states) const {
    static_assert(kPanelRows <= UINT8_MAX);
    uint8_t totals[kMaxLanes] = {};
    for (int64_t k = 0; k < n; ++k) {
      const uint8_t* row = reinterpret_cast<const uint8_t*>(x + k * step);
      for (int64_t w = 0; w < lanes; ++w) totals[w] = static_cast<uint8_t>(totals[w] + row[w]);
    }
    std::copy(totals, totals + lanes, states);
  }
  void join(int64_t& left, const int64_t& right) const { left += right; }
  int64_t identity() const { return 0; }
  void emit(const int64_t* states, const Target& target) const {
    writer.store(states, target.lanes, out + target.offset[0] * out_itemsize, target.step[0]);
  }
};

void check_logical(const char* op, const View& in, const View& out) {
  check_reduced_shape(op, in, out);
  if (out.dtype != DType::UInt8) check_dtype(op, "out", out, DType::Bool);
}

template <class Join>
void logical(const View& in, const View& out, bool identity, Join join) {
  run<bool>(in, out, identity, join);
}

void run_any(const View& in, const View& out) {
  logical(in, out, false, [](auto a, auto b) { return a | b; });
}

void run_all(const View& in, const View& out) {
  logical(in, out, true, [](auto a, auto b) { return a & b; });
}

}  // namespace

void sum(const View& in, const View& out) {
  check_reduced_shape("sum", in, out);
  if (out.dtype == DType::Bool) return run_any(in, out);
  if (in.dtype == DType::Bool && out.dtype == DType::Int64) {
    Count count{Reader<bool>(in.dtype), Writer<int64_t>(out.dtype), out.data, itemsize(out.dtype)};
    return run_reduction(ReducerOf<Count>(count, in.dtype), in, out, out);
  }
  accumulate(in, out, 0, kAdd, kAddWrapping);
}

void nansum(const View& in, const View& out) {
  check_reduced_shape("nansum", in, out);
  if (!is_float(in.dtype) || !is_float(out.dtype)) fail("nansum: expected floats; got ", info(in.dtype).name);
  auto number = [](auto x) { return x != x ? decltype(x){} : x; };
  auto run = [&](auto zero) {
    using A = decltype(zero);
    run_monoid<A>(in, out, Reader<A>(in.dtype), zero, number, kAdd, from_identity(zero, kAdd));
  };
  dispatch_real(out.dtype, run);
}

void prod(const View& in, const View& out) {
  check_reduced_shape("prod", in, out);
  if (out.dtype == DType::Bool) return run_all(in, out);
  accumulate(in, out, 1, kMultiply, kMultiplyWrapping);
}

void any(const View& in, const View& out) {
  check_logical("any", in, out);
  run_any(in, out);
}

void all(const View& in, const View& out) {
  check_logical("all", in, out);
  run_all(in, out);
}

}  // namespace adjoint::cpu
