// Small products, and long ones of a row and a column.
#include "cpu/matmul_small.h"

#include <algorithm>

#include "cpu/parallel.h"

namespace adjoint::cpu {
template <class T>
void small_gemm(const Product<T>& product) {
  // One row times a matrix stored by columns: both run along k, which is a dot product for each column.
  if (product.m == 1 && product.a.col == 1 && product.b.row == 1) {
    for (int64_t j = 0; j < product.n; ++j) {
      T* out = product.c.at(0, j);
      T value = product.alpha * chosen<ProductLoops<T>>.dot(product.a.data, product.b.at(0, j), product.k);
      *out = product.beta == T(0) ? value : value + product.beta * *out;
    }
    return;
  }
  if (product.k <= kSmallDepth) return chosen<ProductLoops<T>>.panels(product);
  Product<T> part = product;
  for (int64_t start = 0; start < product.k; start += kSmallDepth) {
    part.k = std::min(kSmallDepth, product.k - start);
    part.a.data = product.a.at(0, start);
    part.b.data = product.b.at(start, 0);
    chosen<ProductLoops<T>>.panels(part);
    part.beta = T(1);
  }
}

template <class T>
void long_dot(const Product<T>& product) {
  constexpr int64_t most = 64;
  const int64_t each = std::max<int64_t>(1 << 14, (product.k + most - 1) / most);
  const int64_t pieces = (product.k + each - 1) / each;
  T sums[most];
  parallel_for(pieces, 4, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Product<T> part = product;
      part.k = std::min(each, product.k - i * each);
      part.a.data = product.a.at(0, i * each);
      part.b.data = product.b.at(i * each, 0);
      part.c.data = sums + i;
      part.alpha = T(1);
      part.beta = T(0);
      small_gemm(part);
    }
  });
  T total = 0;
  for (int64_t i = 0; i < pieces; ++i) total += sums[i];
  T* out = product.c.data;
  *out = product.beta == T(0) ? product.alpha * total : product.alpha * total + product.beta * *out;
}

template void small_gemm<float>(const Product<float>&);
template void small_gemm<double>(const Product<double>&);
template void long_dot<float>(const Product<float>&);
template void long_dot<double>(const Product<double>&);

}  // namespace adjoint::cpu
