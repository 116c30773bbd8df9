#include "cpu/distance.h"

#include <algorithm>
#include <cmath>

#include "cpu/parallel.h"

namespace adjoint::cpu {
namespace {

// ---- Cross product

/// Half types compute as float.
template <class T>
using Wide = std::conditional_t<is_half_v<T>, float, T>;

template <class T>
void cross_row(const T* a, int64_t a_part, int64_t a_step, const T* b, int64_t b_part, int64_t b_step, T* out,
               int64_t out_part, int64_t out_step, int64_t n) {
  for (int64_t i = 0; i < n; ++i, a += a_step, b += b_step, out += out_step) {
    Wide<T> x0 = a[0], x1 = a[a_part], x2 = a[2 * a_part], y0 = b[0], y1 = b[b_part], y2 = b[2 * b_part];
    out[0] = T(x1 * y2 - x2 * y1);
    out[out_part] = T(x2 * y0 - x0 * y2);
    out[2 * out_part] = T(x0 * y1 - x1 * y0);
  }
}

// ---- Distances: one small class per kind of norm, with the terms of a sum and their derivatives

/// sum |d|^p ^ (1/p)
template <class T>
struct AnyNorm {
  T p;
  T add(T total, T d) const { return total + std::pow(std::abs(d), p); }
  T finish(T total) const { return std::pow(total, 1 / p); }
  /// g times the derivative of the distance `norm` to d is term(factor(g, norm), d, norm).
  T factor(T g, T norm) const { return norm == 0 ? 0 : g; }
  T term(T factor, T d, T norm) const {
    return d == 0 || norm == 0 ? 0 : factor * std::copysign(std::pow(std::abs(d) / norm, p - 1), d);
  }
};
/// The number of differences.
template <class T>
struct ZeroNorm {
  T add(T total, T d) const { return total + (d != 0 ? T(1) : T(0)); }
  T finish(T total) const { return total; }
  T factor(T, T) const { return 0; }
  T term(T, T, T) const { return 0; }
};
template <class T>
struct OneNorm {
  T add(T total, T d) const { return total + std::abs(d); }
  T finish(T total) const { return total; }
  T factor(T g, T) const { return g; }
  T term(T factor, T d, T) const { return d > 0 ? factor : d < 0 ? -factor : T(0); }
};
template <class T>
struct TwoNorm {
  T add(T total, T d) const { return total + d * d; }
  T finish(T total) const { return std::sqrt(total); }
  T factor(T g, T norm) const { return norm == 0 ? 0 : g / norm; }
  T term(T factor, T d, T) const { return factor * d; }
};
template <class T>
struct GreatestNorm {
  T add(T total, T d) const { return std::isnan(d) ? d : std::max(total, std::abs(d)); }
  T finish(T total) const { return total; }
  T factor(T g, T) const { return g; }
  T term(T factor, T d, T norm) const { return d == norm ? factor : d == -norm ? -factor : T(0); }
};

template <class T, class F>
void with_norm(double p, F&& f) {
  if (p == 0) return f(ZeroNorm<T>{});
  if (p == 1) return f(OneNorm<T>{});
  if (p == 2) return f(TwoNorm<T>{});
  if (std::isinf(p)) return f(GreatestNorm<T>{});
  f(AnyNorm<T>{static_cast<T>(p)});
}

/// Terms in several chains, so that the additions of one do not wait for each other.
template <class T, class Norm>
T distance(const Norm& norm, const T* a, const T* b, int64_t n) {
  constexpr int kChains = 8;
  T total[kChains];
  std::fill(total, total + kChains, T(0));
  int64_t i = 0;
  for (; i + kChains <= n; i += kChains)
    for (int c = 0; c < kChains; ++c) total[c] = norm.add(total[c], a[i + c] - b[i + c]);
  for (; i < n; ++i) total[0] = norm.add(total[0], a[i] - b[i]);
  for (int c = 1; c < kChains; ++c) {
    if constexpr (std::is_same_v<Norm, GreatestNorm<T>>) {
      total[0] = norm.add(total[0], total[c]);
    } else {
      total[0] += total[c];
    }
  }
  return norm.finish(total[0]);
}

template <class T, class Norm>
void add_slopes(const Norm& norm, T g, T length, const T* a, const T* b, T* out, int64_t n) {
  T factor = norm.factor(g, length);
  for (int64_t i = 0; i < n; ++i) out[i] += norm.term(factor, a[i] - b[i], length);
}

int64_t grain(int64_t cost) { return std::max<int64_t>(1, 16384 / std::max<int64_t>(cost, 1)); }

/// Calls f(norm, T{}) for the type and the norm.
template <class F>
void with_type_and_norm(DType dtype, double p, F&& f) {
  dispatch_real(dtype, [&](auto tag) { with_norm<decltype(tag)>(p, [&](auto norm) { f(norm, tag); }); });
}

/// Where the distances of row i to the rows after it begin.
int64_t pairs_before(int64_t i, int64_t n) { return i * (2 * n - i - 1) / 2; }

}  // namespace

void cross(const View& a, const View& b, const View& out, int axis) {
  const int ndim = out.ndim;
  const int64_t* sizes = out.sizes;
  // Rows run along the longest of the other dimensions.
  const int inner = axis == ndim - 1 ? ndim - 2 : ndim - 1;
  const int64_t length = inner < 0 ? 1 : sizes[inner], rows = out.numel() / 3 / length;
  dispatch(out.dtype, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (!std::is_same_v<T, bool>) {
      auto step = [&](const View& view) { return inner < 0 ? 0 : view.strides[inner]; };
      auto some = [&](int64_t row, int64_t from, int64_t to) {
        int64_t at[3] = {};
        for (int d = ndim; d-- > 0;) {
          if (d == axis || d == inner) continue;
          int64_t place = row % sizes[d];
          row /= sizes[d];
          at[0] += place * a.strides[d], at[1] += place * b.strides[d], at[2] += place * out.strides[d];
        }
        cross_row(a.as<T>() + at[0] + from * step(a), a.strides[axis], step(a), b.as<T>() + at[1] + from * step(b),
                  b.strides[axis], step(b), out.as<T>() + at[2] + from * step(out), out.strides[axis], step(out),
                  to - from);
      };
      if (rows == 1) {
        parallel_for(length, 8192, [&](int64_t from, int64_t to) { some(0, from, to); });
      } else {
        parallel_for(rows, grain(3 * length), [&](int64_t first, int64_t last) {
          for (int64_t row = first; row < last; ++row) some(row, 0, length);
        });
      }
    }
  });
}

void cdist(const View& x1, const View& x2, double p, const View& out) {
  const int64_t batch = x1.sizes[0], n = x1.sizes[1], m = x2.sizes[1], d = x1.sizes[2];
  with_type_and_norm(x1.dtype, p, [&](auto norm, auto tag) {
    using T = decltype(tag);
    parallel_for(batch * n, grain(m * d), [&](int64_t first, int64_t last) {
      for (int64_t row = first; row < last; ++row)
        for (int64_t j = 0; j < m; ++j)
          out.as<T>()[row * m + j] = distance(norm, x1.as<T>() + row * d, x2.as<T>() + (row / n * m + j) * d, d);
    });
  });
}

void cdist_backward(const View& grad, const View& x1, const View& x2, double p, const View& out, const View& gin) {
  const int64_t batch = x1.sizes[0], n = x1.sizes[1], m = x2.sizes[1], d = x1.sizes[2];
  with_type_and_norm(x1.dtype, p, [&](auto norm, auto tag) {
    using T = decltype(tag);
    parallel_for(batch * n, grain(m * d), [&](int64_t first, int64_t last) {
      for (int64_t row = first; row < last; ++row) {
        T* target = gin.as<T>() + row * d;
        std::fill(target, target + d, T(0));
        for (int64_t j = 0; j < m; ++j)
          add_slopes(norm, grad.as<T>()[row * m + j], out.as<T>()[row * m + j], x1.as<T>() + row * d,
                     x2.as<T>() + (row / n * m + j) * d, target, d);
      }
    });
  });
}

void pdist(const View& in, double p, const View& out) {
  const int64_t n = in.sizes[0], d = in.sizes[1];
  with_type_and_norm(in.dtype, p, [&](auto norm, auto tag) {
    using T = decltype(tag);
    parallel_for(n, grain(n * d), [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        T* target = out.as<T>() + pairs_before(i, n);
        for (int64_t j = i + 1; j < n; ++j) *target++ = distance(norm, in.as<T>() + i * d, in.as<T>() + j * d, d);
      }
    });
  });
}

void pdist_backward(const View& grad, const View& in, double p, const View& out, const View& gin) {
  const int64_t n = in.sizes[0], d = in.sizes[1];
  with_type_and_norm(in.dtype, p, [&](auto norm, auto tag) {
    using T = decltype(tag);
    parallel_for(n, grain(n * d), [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        T* target = gin.as<T>() + i * d;
        std::fill(target, target + d, T(0));
        for (int64_t j = 0; j < n; ++j) {
          if (i == j) continue;
          int64_t pair = pairs_before(std::min(i, j), n) + std::max(i, j) - std::min(i, j) - 1;
          add_slopes(norm, grad.as<T>()[pair], out.as<T>()[pair], in.as<T>() + i * d, in.as<T>() + j * d, target, d);
        }
      }
    });
  });
}

}  // namespace adjoint::cpu
