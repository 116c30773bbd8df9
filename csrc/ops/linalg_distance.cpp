#include "ops/linalg_distance.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/lock.h"
#include "cpu/parallel.h"
#include "ops/memory.h"

namespace adjoint::ops {
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

template <class F>
void with_real_type(const char* kernel, DType dtype, F&& f) {
  if (dtype == DType::Float32) return f(float{});
  if (dtype == DType::Float64) return f(double{});
  fail_not_implemented(kernel, dtype);
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

}  // namespace

TensorPtr linalg_cross(Tensor* input, Tensor* other, int64_t dim) {
  const char* op = "linalg.cross";
  if (input->ndim() != other->ndim()) fail(op, ": inputs must have the same number of dimensions.");
  if (input->dtype != other->dtype)
    fail(op, ": expected both inputs to have the same dtype; got ", info(input->dtype).name, " and ",
         info(other->dtype).name, "; convert one of them with .to(dtype)");
  if (input->ndim() == 0) fail(ErrorKind::Index, "Dimension specified as ", dim, " but tensor has no dimensions");
  int axis = wrap_dim(dim, input->ndim());
  if (input->size(axis) != 3 || other->size(axis) != 3)
    fail(op, ": inputs dimension ", dim, " must have length 3. Got ", input->size(axis), " and ", other->size(axis));
  if (input->dtype == DType::Bool) fail_not_implemented("cross", input->dtype);
  int64_t sizes[kMaxDims], a[kMaxDims], b[kMaxDims];
  int ndim = broadcast_sizes(input->sizes(), other->sizes(), sizes);
  Sizes shape(sizes, static_cast<size_t>(ndim));
  broadcast_strides(input->shape, shape, a);
  broadcast_strides(other->shape, shape, b);
  TensorPtr result = empty(shape, input->dtype);
  if (result->numel() == 0) return result;
  // Rows run along the longest of the other dimensions.
  int inner = axis == ndim - 1 ? ndim - 2 : ndim - 1;
  const int64_t *c = result->shape->strides(), length = inner < 0 ? 1 : sizes[inner];
  int64_t rows = result->numel() / 3 / length;
  WithoutLock unlocked(result->numel());
  dispatch(input->dtype, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (!std::is_same_v<T, bool>) {
      auto step = [&](const int64_t* strides) { return inner < 0 ? 0 : strides[inner]; };
      auto some = [&](int64_t row, int64_t from, int64_t to) {
        int64_t at[3] = {};
        for (int d = ndim; d-- > 0;) {
          if (d == axis || d == inner) continue;
          int64_t place = row % sizes[d];
          row /= sizes[d];
          at[0] += place * a[d], at[1] += place * b[d], at[2] += place * c[d];
        }
        cross_row(input->as<T>() + at[0] + from * step(a), a[axis], step(a), other->as<T>() + at[1] + from * step(b),
                  b[axis], step(b), result->as<T>() + at[2] + from * step(c), c[axis], step(c), to - from);
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
  return result;
}

/// What is indexed below: three dimensions, the first and last in common, and one type.
static void check_pair(const Tensor* x1, const Tensor* x2) {
  if (x1->dtype != x2->dtype)
    fail("expected scalar type ", info(x1->dtype).legacy_name, " but found ", info(x2->dtype).legacy_name,
         "; convert one of them with .to(dtype)");
  if (x1->ndim() != 3 || x2->ndim() != 3 || x1->size(0) != x2->size(0) || x1->size(2) != x2->size(2))
    fail("cdist: expected two batches of rows of one length; got ", to_string(x1->sizes()), " and ",
         to_string(x2->sizes()));
}

static void check_like(const char* op, const Tensor* tensor, Sizes sizes, DType dtype) {
  if (tensor->dtype != dtype || !std::equal(sizes.begin(), sizes.end(), tensor->sizes().begin(), tensor->sizes().end()))
    fail(op, ": expected a gradient of shape ", to_string(sizes), " and type ", info(dtype).name, "; got ",
         to_string(tensor->sizes()), " and ", info(tensor->dtype).name);
}

TensorPtr cdist_forward(Tensor* x1, Tensor* x2, double p) {
  check_pair(x1, x2);
  TensorPtr a = contiguous(x1), b = contiguous(x2);
  int64_t batch = a->size(0), n = a->size(1), m = b->size(1), d = a->size(2);
  const int64_t sizes[3] = {batch, n, m};
  TensorPtr result;
  with_real_type("cdist", a->dtype, [&](auto tag) {
    using T = decltype(tag);
    result = empty(sizes, a->dtype);
    WithoutLock unlocked(result->numel() * std::max<int64_t>(d, 1));
    with_norm<T>(p, [&](auto norm) {
      parallel_for(batch * n, grain(m * d), [&](int64_t first, int64_t last) {
        for (int64_t row = first; row < last; ++row)
          for (int64_t j = 0; j < m; ++j)
            result->as<T>()[row * m + j] = distance(norm, a->as<T>() + row * d, b->as<T>() + (row / n * m + j) * d, d);
      });
    });
  });
  return result;
}

TensorPtr cdist_backward(Tensor* grad, Tensor* x1, Tensor* x2, double p, Tensor* out) {
  check_pair(x1, x2);
  TensorPtr g = contiguous(grad), a = contiguous(x1), b = contiguous(x2), lengths = contiguous(out);
  int64_t batch = a->size(0), n = a->size(1), m = b->size(1), d = a->size(2);
  const int64_t pairs[3] = {batch, n, m};
  check_like("cdist_backward", grad, pairs, a->dtype);
  check_like("cdist_backward", out, pairs, a->dtype);
  TensorPtr result;
  with_real_type("cdist_backward", a->dtype, [&](auto tag) {
    using T = decltype(tag);
    result = empty(a->sizes(), a->dtype);
    WithoutLock unlocked(lengths->numel() * std::max<int64_t>(d, 1));
    with_norm<T>(p, [&](auto norm) {
      parallel_for(batch * n, grain(m * d), [&](int64_t first, int64_t last) {
        for (int64_t row = first; row < last; ++row) {
          T* target = result->as<T>() + row * d;
          std::fill(target, target + d, T(0));
          for (int64_t j = 0; j < m; ++j)
            add_slopes(norm, g->as<T>()[row * m + j], lengths->as<T>()[row * m + j], a->as<T>() + row * d,
                       b->as<T>() + (row / n * m + j) * d, target, d);
        }
      });
    });
  });
  return result;
}

namespace {

/// Where the distances of row i to the rows after it begin.
int64_t pairs_before(int64_t i, int64_t n) { return i * (2 * n - i - 1) / 2; }

}  // namespace

TensorPtr pdist_forward(Tensor* input, double p) {
  if (input->ndim() != 2) fail("pdist only supports 2D tensors, got: ", input->ndim(), "D");
  TensorPtr a = contiguous(input);
  int64_t n = a->size(0), d = a->size(1);
  const int64_t count = n > 1 ? n * (n - 1) / 2 : 0;
  TensorPtr result;
  with_real_type("pdist", a->dtype, [&](auto tag) {
    using T = decltype(tag);
    result = empty(Sizes(&count, 1), a->dtype);
    WithoutLock unlocked(count * std::max<int64_t>(d, 1));
    with_norm<T>(p, [&](auto norm) {
      parallel_for(n, grain(n * d), [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) {
          T* target = result->as<T>() + pairs_before(i, n);
          for (int64_t j = i + 1; j < n; ++j) *target++ = distance(norm, a->as<T>() + i * d, a->as<T>() + j * d, d);
        }
      });
    });
  });
  return result;
}

TensorPtr pdist_backward(Tensor* grad, Tensor* input, double p, Tensor* out) {
  if (input->ndim() != 2) fail("pdist only supports 2D tensors, got: ", input->ndim(), "D");
  TensorPtr g = contiguous(grad), a = contiguous(input), lengths = contiguous(out);
  int64_t n = a->size(0), d = a->size(1);
  const int64_t pairs = n > 1 ? n * (n - 1) / 2 : 0;
  check_like("pdist_backward", grad, Sizes(&pairs, 1), a->dtype);
  check_like("pdist_backward", out, Sizes(&pairs, 1), a->dtype);
  TensorPtr result;
  with_real_type("pdist_backward", a->dtype, [&](auto tag) {
    using T = decltype(tag);
    result = empty(a->sizes(), a->dtype);
    WithoutLock unlocked(lengths->numel() * std::max<int64_t>(d, 1));
    with_norm<T>(p, [&](auto norm) {
      parallel_for(n, grain(n * d), [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) {
          T* target = result->as<T>() + i * d;
          std::fill(target, target + d, T(0));
          for (int64_t j = 0; j < n; ++j) {
            if (i == j) continue;
            int64_t pair = pairs_before(std::min(i, j), n) + std::max(i, j) - std::min(i, j) - 1;
            add_slopes(norm, g->as<T>()[pair], lengths->as<T>()[pair], a->as<T>() + i * d, a->as<T>() + j * d, target,
                       d);
          }
        }
      });
    });
  });
  return result;
}

}  // namespace adjoint::ops
