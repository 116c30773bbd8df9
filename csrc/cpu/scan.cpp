// Scans, for many slices side by side: one row of lanes is joined into the running results at a time.
#include "cpu/scan.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/reduce_rows.h"

namespace adjoint::cpu {
namespace {

/// Slices scanned together.
constexpr int64_t kLanes = 64;
/// Elements of a single slice converted together.
constexpr int64_t kBlock = 512;

struct Add {
  static constexpr bool kRegroups = true;
  static constexpr int kIdentity = 0;
  template <class A>
  void operator()(A& total, A x) const {
    total += x;
  }
  void operator()(int64_t& total, int64_t x) const {
    total = static_cast<int64_t>(static_cast<uint64_t>(total) + static_cast<uint64_t>(x));
  }
};

/// Joins the elements of a run into `total`, which is stored after each; y may be x.
template <class A, class Step>
void scan_run(const A* x, int64_t n, A& total, A* y, Step step, bool regroup) {
  int64_t i = 0;
  A running = total;
  if constexpr (Step::kRegroups && std::is_same_v<A, double>) {
    // Four at a time: each waits for one step only.
    auto joined = [step](double a, double b) {
      step(a, b);
      return a;
    };
    for (; regroup && i + 4 <= n; i += 4) {
      double one = x[i], two = joined(one, x[i + 1]), three = joined(two, x[i + 2]);
      double four = joined(two, joined(x[i + 2], x[i + 3]));
      y[i] = joined(running, one);
      y[i + 1] = joined(running, two);
      y[i + 2] = joined(running, three);
      y[i + 3] = running = joined(running, four);
    }
  }
  for (; i < n; ++i) {
    step(running, x[i]);
    y[i] = running;
  }
  total = running;
}

/// `step(total, x)` joins x into total; it is called in order, the first total being its identity.
template <class A, class Step>
void scan_values(const View& in, const View& out, int dim, Step step) {
  Slices<2> slices({&in, &out}, dim);
  if (slices.empty()) return;
  Reader<A> reader(in.dtype);
  Writer<A> writer(out.dtype);
  int64_t in_item = itemsize(in.dtype), out_item = itemsize(out.dtype);
  // Lanes help when they are nearer to each other than the elements of a slice; else a slice is walked in blocks.
  bool side_by_side = slices.lanes >= 8 && std::abs(slices.lane_step[0]) <= std::abs(slices.step[0]);
  int64_t width = side_by_side ? std::min(slices.lanes, kLanes) : 1;
  int64_t groups = (slices.lanes + width - 1) / width;
  // Sums and products of a few narrow floats, taken in double, are as good in any order: none of them overflows.
  bool regroup = itemsize(in.dtype) <= 4 && itemsize(out.dtype) <= 4;
  share_out(slices.outer.total * groups, width * slices.n, [&](int64_t begin, int64_t end) {
    A buffer[kBlock];
    A total[kLanes];
    for (int64_t unit = begin; unit < end; ++unit) {
      int64_t offset[2];
      slices.outer.locate(unit / groups, offset);
      int64_t lane = unit % groups * width;
      int64_t lanes = std::min(width, slices.lanes - lane);
      const char* source = in.data + (offset[0] + lane * slices.lane_step[0]) * in_item;
      char* target = out.data + (offset[1] + lane * slices.lane_step[1]) * out_item;
      std::fill(total, total + lanes, A(Step::kIdentity));
      if (side_by_side) {
        for (int64_t k = 0; k < slices.n; ++k) {
          const A* x = reader.run(source + k * slices.step[0] * in_item, slices.lane_step[0], lanes, buffer);
          for (int64_t w = 0; w < lanes; ++w) step(total[w], x[w]);
          writer.store(total, lanes, target + k * slices.step[1] * out_item, slices.lane_step[1]);
        }
        continue;
      }
      bool in_place = reader.direct(slices.step[0]) && writer.direct(slices.step[1]);
      for (int64_t k = 0; k < slices.n; k += kBlock) {
        int64_t m = std::min(kBlock, slices.n - k);
        const A* x = reader.run(source + k * slices.step[0] * in_item, slices.step[0], m, buffer);
        A* y = in_place ? reinterpret_cast<A*>(target) + k : buffer;
        scan_run(x, m, total[0], y, step, regroup);
        if (in_place) continue;
        writer.store(buffer, m, target + k * slices.step[1] * out_item, slices.step[1]);
      }
    }
  });
}

struct Multiply {
  static constexpr bool kRegroups = true;
  static constexpr int kIdentity = 1;
  template <class A>
  void operator()(A& total, A x) const {
    total *= x;
  }
  void operator()(complex128& total, complex128 x) const {  // the plain formula, as in fn::mul
    total = {total.real() * x.real() - total.imag() * x.imag(), total.real() * x.imag() + total.imag() * x.real()};
  }
  void operator()(int64_t& total, int64_t x) const {
    total = static_cast<int64_t>(static_cast<uint64_t>(total) * static_cast<uint64_t>(x));
  }
};

struct LogAddExp {
  static constexpr bool kRegroups = false;
  static constexpr double kIdentity = -std::numeric_limits<double>::infinity();
  void operator()(double& total, double x) const {
    double high = total > x || total != total ? total : x;
    double low = total > x || total != total ? x : total;
    // Equal infinities would give inf - inf; a NaN on either side stays.
    if (low == high && std::isinf(high)) {
      total = high;
    } else {
      total = high + std::log1p(std::exp(low - high));
    }
  }
  void operator()(complex128& total, complex128 x) const {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    complex128 high = total.real() < x.real() ? x : total;
    complex128 low = total.real() < x.real() ? total : x;
    if (std::isnan(total.real()) || std::isnan(x.real())) {
      total = complex128(kNan, kNan);
    } else if (high.real() == kInfinity) {
      total = complex128(kInfinity, low.real() == kInfinity ? kNan : high.imag());
    } else if (low.real() == -kInfinity) {
      total = high.real() == -kInfinity ? complex128(-kInfinity, 0) : high;  // exp(-inf) is 0 at every angle
    } else {
      total = high + std::log(1.0 + std::exp(low - high));
    }
  }
};

template <class Step>
void accumulate(const char* op, const View& in, const View& out, int dim, Step step) {
  check_same_shape(op, in, out, dim);
  switch (category(out.dtype)) {
    case Category::Complex: return scan_values<complex128>(in, out, dim, step);
    case Category::Float: return scan_values<double>(in, out, dim, step);
    default: return scan_values<int64_t>(in, out, dim, step);
  }
}

/// A is wide enough to hold every value exactly: float, double or int64. Nothing but NaN is as great as NaN.
template <class A, bool kMax>
void scan_extremes(const View& in, const View& values, const View& indices, int dim) {
  Slices<3> slices({&in, &values, &indices}, dim);
  if (slices.empty()) return;
  Reader<A> reader(in.dtype);
  Writer<A> writer(values.dtype);
  int64_t in_item = itemsize(in.dtype), out_item = itemsize(values.dtype);
  share_out(slices.outer.total * slices.lanes, slices.n, [&](int64_t begin, int64_t end) {
    A buffer[kBlock];
    for (int64_t unit = begin; unit < end; ++unit) {
      int64_t offset[3];
      slices.outer.locate(unit / slices.lanes, offset);
      for (int v = 0; v < 3; ++v) offset[v] += unit % slices.lanes * slices.lane_step[v];
      int64_t* index = indices.as<int64_t>() + offset[2];
      A best{};
      int64_t where = 0;
      for (int64_t k = 0; k < slices.n; k += kBlock) {
        int64_t m = std::min(kBlock, slices.n - k);
        reader.load(in.data + (offset[0] + k * slices.step[0]) * in_item, slices.step[0], m, buffer);
        for (int64_t i = 0; i < m; ++i) {
          A x = buffer[i];
          bool better = (kMax ? x >= best : x <= best) | (x != x) | (k + i == 0);
          best = better ? x : best;
          where = better ? k + i : where;
          buffer[i] = best;
          index[(k + i) * slices.step[2]] = where;
        }
        writer.store(buffer, m, values.data + (offset[1] + k * slices.step[1]) * out_item, slices.step[1]);
      }
    }
  });
}

template <bool kMax>
void extremes(const char* op, const View& in, const View& values, const View& indices, int dim) {
  check_same_shape(op, in, values, dim);
  check_same_shape(op, in, indices, dim);
  check_dtype(op, "indices", indices, DType::Int64);
  check_ordered(op, in.dtype);
  if (in.dtype == DType::Float64) {
    scan_extremes<double, kMax>(in, values, indices, dim);
  } else if (is_float(in.dtype)) {
    scan_extremes<float, kMax>(in, values, indices, dim);
  } else {
    scan_extremes<int64_t, kMax>(in, values, indices, dim);
  }
}

template <class T>
void recur_slice(const T* in, const T* weight, T* out, int64_t n, int64_t inner, bool reverse) {
  int64_t step = reverse ? -inner : inner;
  int64_t start = reverse ? (n - 1) * inner : 0;
  const T* x = in + start;
  // The weight between two neighbours stands at the later of them.
  const T* w = weight + start + (reverse ? 0 : inner);
  T* y = out + start;
  std::copy(x, x + inner, y);
  for (int64_t i = 1; i < n; ++i, w += step) {
    const T* previous = y;
    x += step;
    y += step;
    for (int64_t k = 0; k < inner; ++k) y[k] = x[k] + w[k] * previous[k];
  }
}

}  // namespace

void cumsum(const View& in, const View& out, int dim) { accumulate("cumsum", in, out, dim, Add{}); }
void cumprod(const View& in, const View& out, int dim) { accumulate("cumprod", in, out, dim, Multiply{}); }

void logcumsumexp(const View& in, const View& out, int dim) {
  check_same_shape("logcumsumexp", in, out, dim);
  if (is_complex(out.dtype)) {
    scan_values<complex128>(in, out, dim, LogAddExp{});
  } else {
    check_ordered("logcumsumexp", in.dtype);
    scan_values<double>(in, out, dim, LogAddExp{});
  }
}

void cummax(const View& in, const View& values, const View& indices, int dim) {
  extremes<true>("cummax", in, values, indices, dim);
}

void cummin(const View& in, const View& values, const View& indices, int dim) {
  extremes<false>("cummin", in, values, indices, dim);
}

void recur(const View& in, const View& weight, const View& out, int dim, bool reverse) {
  const int64_t numel = in.numel();
  if (numel == 0) return;
  int64_t n = in.ndim == 0 ? 1 : in.sizes[dim], inner = 1;
  for (int d = dim + 1; d < in.ndim; ++d) inner *= in.sizes[d];
  const int64_t slice = n * inner;
  dispatch(in.dtype, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_floating_point_v<T> || is_complex_v<T>) {
      share_out(numel / slice, slice, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin * slice; i < end * slice; i += slice)
          recur_slice(in.as<T>() + i, weight.as<T>() + i, out.as<T>() + i, n, inner, reverse);
      });
    }
  });
}

}  // namespace adjoint::cpu
