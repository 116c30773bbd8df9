// Tables of the conversions between every dtype and the accumulation types, and the checks of shapes and dtypes.
#include "cpu/reduce_rows.h"

#include "cpu/half_rows.h"
#include "cpu/reduce_runs_isa.h"

namespace adjoint::cpu {
namespace {

template <class A, class T>
void load_run(const char* source, int64_t stride, int64_t n, A* target) {
  const T* from = reinterpret_cast<const T*>(source);
  if (stride != 1) {
    for (int64_t i = 0; i < n; ++i) target[i] = convert<A>(from[i * stride]);
    return;
  }
  if constexpr (is_half_v<T> && std::is_same_v<A, float>) {
    widen_row(from, target, n);
  } else if constexpr (is_half_v<T> && std::is_same_v<A, double>) {
    float buffer[256];
    for (int64_t i = 0; i < n; i += 256) {
      int64_t m = std::min<int64_t>(256, n - i);
      widen_row(from + i, buffer, m);
      for (int64_t j = 0; j < m; ++j) target[i + j] = buffer[j];
    }
  } else {
    for (int64_t i = 0; i < n; ++i) target[i] = convert<A>(from[i]);
  }
}

template <class A, class T>
void store_run(const A* source, int64_t n, char* target, int64_t stride) {
  T* to = reinterpret_cast<T*>(target);
  if (stride != 1) {
    for (int64_t i = 0; i < n; ++i) to[i * stride] = convert<T>(source[i]);
    return;
  }
  if constexpr (is_half_v<T> && std::is_same_v<A, float>) {
    narrow_row(source, to, n);
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = convert<T>(source[i]);
  }
}

}  // namespace

template <class A>
bool turn_rows(const A* source, int64_t n, int64_t rows, A* target) {
  if constexpr (std::is_arithmetic_v<A> && sizeof(A) >= 4) {
    return chosen<TurnLoops<A>>.rows(source, n, rows, target);
  } else {
    return false;
  }
}

template <class A>
LoadFn<A> loader(DType dtype) {
  return dispatch(dtype, [](auto tag) -> LoadFn<A> { return load_run<A, decltype(tag)>; });
}

template <class A>
StoreFn<A> storer(DType dtype) {
  return dispatch(dtype, [](auto tag) -> StoreFn<A> { return store_run<A, decltype(tag)>; });
}

#define ADJOINT_INSTANTIATE(type)             \
  template LoadFn<type> loader<type>(DType);  \
  template StoreFn<type> storer<type>(DType); \
  template bool turn_rows<type>(const type*, int64_t, int64_t, type*);
ADJOINT_INSTANTIATE(float)
ADJOINT_INSTANTIATE(double)
ADJOINT_INSTANTIATE(int32_t)
ADJOINT_INSTANTIATE(int64_t)
ADJOINT_INSTANTIATE(complex64)
ADJOINT_INSTANTIATE(complex128)
ADJOINT_INSTANTIATE(bool)
#undef ADJOINT_INSTANTIATE

void check_dim(const char* op, const View& in, int dim) {
  if (dim < 0 || dim >= std::max(1, in.ndim)) {
    fail(ErrorKind::Index, op, ": Dimension out of range (expected to be in range of [0, ", std::max(1, in.ndim) - 1,
         "], but got ", dim, "); pass a dimension of the input");
  }
}

void check_same_shape(const char* op, const View& in, const View& out, int dim) {
  check_dim(op, in, dim);
  bool same = in.ndim == out.ndim && std::equal(in.sizes, in.sizes + in.ndim, out.sizes);
  if (!same)
    fail(op, ": expected input and output of one shape; they differ; allocate the output in the input's shape");
}

void check_reduced_shape(const char* op, const View& in, const View& out) {
  bool fits = in.ndim == out.ndim;
  for (int d = 0; fits && d < in.ndim; ++d) fits = out.sizes[d] == in.sizes[d] || out.sizes[d] == 1;
  if (!fits) {
    fail(op,
         ": expected an output with the input's sizes, or 1 where a dimension is reduced; it differs; "
         "allocate the output with the reduced dimensions kept");
  }
}

void check_dtype(const char* op, const char* name, const View& view, DType dtype) {
  if (view.dtype != dtype) {
    fail(op, ": expected ", name, " of dtype ", info(dtype).name, "; got ", info(view.dtype).name,
         "; convert it first");
  }
}

void check_ordered(const char* op, DType dtype) {
  if (is_complex(dtype)) {
    fail(ErrorKind::NotImplemented, op, ": \"", op, "\" not implemented for '", info(dtype).legacy_name,
         "'; complex numbers have no order: use .abs() or .real");
  }
}

}  // namespace adjoint::cpu
