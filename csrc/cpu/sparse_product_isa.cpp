#include "cpu/sparse_product_isa.h"

namespace adjoint::cpu {
namespace {

/// Columns whose sums are kept in registers.
template <class T>
constexpr int64_t kTile = 256 / sizeof(T);
/// Sums of a dot product that run beside one another.
constexpr int64_t kLanes = 16;

template <class T, bool whole>
[[gnu::always_inline]] inline bool add_tile(const int64_t* order, int64_t first, int64_t last, const int64_t* column,
                                            const T* value, const T* __restrict dense, int64_t stride, int64_t limit,
                                            T* __restrict out, int64_t width) {
  T sums[kTile<T>] = {};
  const int64_t n = whole ? kTile<T> : width;
  for (int64_t i = first; i < last; ++i) {
    const int64_t e = order ? order[i] : i, row = column[e];
    if (static_cast<uint64_t>(row) >= static_cast<uint64_t>(limit)) return false;
    const T factor = value[e];
    const T* __restrict from = dense + row * stride;
    for (int64_t j = 0; j < n; ++j) sums[j] += factor * from[j];
  }
  for (int64_t j = 0; j < n; ++j) out[j] = sums[j];
  return true;
}

template <class T>
bool add_rows(const int64_t* order, int64_t first, int64_t last, const int64_t* column, const T* value, const T* dense,
              int64_t stride, int64_t limit, T* out, int64_t width) {
  int64_t j = 0;
  for (; j + kTile<T> <= width; j += kTile<T>)
    if (!add_tile<T, true>(order, first, last, column, value, dense + j, stride, limit, out + j, kTile<T>))
      return false;
  return j == width ||
         add_tile<T, false>(order, first, last, column, value, dense + j, stride, limit, out + j, width - j);
}

template <class T>
T dot(const T* a, const T* b, int64_t n) {
  T sums[kLanes] = {};
  int64_t j = 0;
  for (; j + kLanes <= n; j += kLanes)
    for (int64_t k = 0; k < kLanes; ++k) sums[k] += a[j + k] * b[j + k];
  for (int64_t k = 0; j + k < n; ++k) sums[k] += a[j + k] * b[j + k];
  for (int64_t half = kLanes / 2; half > 0; half /= 2)
    for (int64_t k = 0; k < half; ++k) sums[k] += sums[k + half];
  return sums[0];
}

template <class T>
constexpr SparseLoops<T> kLoops = {.add_rows = add_rows<T>, .dot = dot<T>};

}  // namespace

template <class T>
template <Isa>
SparseLoops<T> SparseLoops<T>::compiled() {
  return kLoops<T>;
}
template SparseLoops<float> SparseLoops<float>::compiled<kIsa>();
template SparseLoops<double> SparseLoops<double>::compiled<kIsa>();

}  // namespace adjoint::cpu
