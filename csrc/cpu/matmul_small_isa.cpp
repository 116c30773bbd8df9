// Small products: blocks of the result held in registers.
#include <cstring>
#include <type_traits>

#include "cpu/matmul_small.h"
#include "cpu/turn.h"
#include "cpu/vector_math.h"

namespace adjoint::cpu {
namespace {

template <class T, int Bytes>
struct VectorOf {
  typedef T Type __attribute__((vector_size(Bytes), aligned(alignof(T)), may_alias));
};

/// Rows x (Columns vectors) of c, held in registers over the whole of k. The first `skip` columns are not stored.
template <class T, int Bytes, int Rows, int Columns>
inline void block(const Product<T>& p, const T* a, const T* b, int64_t b_row, T* c, int64_t skip) {
  using Vector = typename VectorOf<T, Bytes>::Type;
  constexpr int lanes = Bytes / sizeof(T);
  Vector sum[Rows][Columns] = {};
  const int64_t a_row = p.a.row;
  const int64_t a_col = p.a.col;
  for (int64_t i = 0; i < p.k; ++i) {
    Vector x[Columns];
#pragma GCC unroll 8
    for (int v = 0; v < Columns; ++v) x[v] = *reinterpret_cast<const Vector*>(b + v * lanes);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < Columns; ++v) sum[r][v] += a[r * a_row] * x[v];
    }
    a += a_col;
    b += b_row;
  }
  const bool overwrite = p.beta == T(0);
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
    T* out = c + r * p.c.row;
    if (skip == 0) {
#pragma GCC unroll 8
      for (int v = 0; v < Columns; ++v) {
        Vector* to = reinterpret_cast<Vector*>(out + v * lanes);
        *to = overwrite ? p.alpha * sum[r][v] : p.alpha * sum[r][v] + p.beta * *to;
      }
    } else {
      T values[lanes];
      *reinterpret_cast<Vector*>(values) = p.alpha * sum[r][0];
      for (int64_t j = skip; j < lanes; ++j) out[j] = overwrite ? values[j] : values[j] + p.beta * out[j];
    }
  }
}

/// As many rows are worth a panel of two vectors that must be packed.
constexpr int64_t kManyRows = 64;

/// One panel of c, Columns vectors wide, from `b` that is packed along its rows.
template <class T, int Bytes, int Columns>
inline void panel(const Product<T>& p, const T* b, int64_t b_row, int64_t column, int64_t skip) {
  constexpr int most = kVectorBytes == 64 || Columns == 1 ? 8 : 4;
  int64_t i = 0;
  for (; i + most <= p.m; i += most) {
    block<T, Bytes, most, Columns>(p, p.a.at(i, 0), b, b_row, p.c.at(i, column), skip);
  }
  if (most > 4 && i + 4 <= p.m) {
    block<T, Bytes, 4, Columns>(p, p.a.at(i, 0), b, b_row, p.c.at(i, column), skip);
    i += 4;
  }
  if (i + 2 <= p.m) {
    block<T, Bytes, 2, Columns>(p, p.a.at(i, 0), b, b_row, p.c.at(i, column), skip);
    i += 2;
  }
  if (i < p.m) block<T, Bytes, 1, Columns>(p, p.a.at(i, 0), b, b_row, p.c.at(i, column), skip);
}

/// Columns of b in rows that lie one behind the other.
template <int Columns, class T>
inline void pack(const Matrix<const T>& b, int64_t column, int64_t k, T* packed) {
  constexpr int width = Packed<T>::kWidth;
  int64_t i = 0;
  if constexpr (Columns % width == 0) {
    for (; b.row == 1 && i + width <= k; i += width) {
      for (int j = 0; j < Columns; j += width) {
        typename Packed<T>::Type in[width], out[width];
        for (int v = 0; v < width; ++v) std::memcpy(&in[v], b.at(i, column + j + v), sizeof(in[v]));
        turn_vectors<T, width>(in, out);
        for (int v = 0; v < width; ++v) std::memcpy(packed + (i + v) * Columns + j, &out[v], sizeof(out[v]));
      }
    }
  }
  for (; i < k; ++i) {
    for (int j = 0; j < Columns; ++j) packed[i * Columns + j] = *b.at(i, column + j);
  }
}

/// All columns, in vectors of `Bytes`, of which n must fill one at least. The last panel reaches back
/// over columns that are done already, rather than over the end: nothing needs padding.
template <class T, int Bytes>
void panels_of(const Product<T>& p) {
  constexpr int lanes = Bytes / sizeof(T);
  alignas(64) T packed[kSmallDepth * 2 * lanes];
  const bool ready = !packs(p);
  int64_t column = 0;
  // What is packed for few rows is better packed for one vector, of which more rows fit into the registers.
  if (ready || p.m >= kManyRows) {
    for (; column + 2 * lanes <= p.n; column += 2 * lanes) {
      if (!ready) pack<2 * lanes>(p.b, column, p.k, packed);
      panel<T, Bytes, 2>(p, ready ? p.b.at(0, column) : packed, ready ? p.b.row : 2 * lanes, column, 0);
    }
  }
  for (; column < p.n; column += lanes) {
    const int64_t skip = column + lanes > p.n ? column + lanes - p.n : 0;
    const T* b = p.b.at(0, column - skip);
    int64_t b_row = p.b.row;
    if (!ready) {
      pack<lanes>(p.b, column - skip, p.k, packed);
      b = packed;
      b_row = lanes;
    }
    // Storing a column twice does no harm, unless its old value is added in.
    panel<T, Bytes, 1>(p, b, b_row, column - skip, p.beta == T(0) ? 0 : skip);
  }
}

/// The product where b has too few columns for a vector: a row of c at a time.
template <class T, int Columns>
void narrow_product(const Product<T>& p) {
  const T *a = p.a.data, *b = p.b.data;
  const int64_t a_col = p.a.col, b_row = p.b.row, b_col = p.b.col;
  const T alpha = p.alpha, beta = p.beta;
  T* out = p.c.data;
  for (int64_t i = 0; i < p.m; ++i, a += p.a.row, out += p.c.row) {
    T sum[Columns] = {};
    for (int64_t l = 0; l < p.k; ++l) {
#pragma GCC unroll 4
      for (int j = 0; j < Columns; ++j) sum[j] += a[l * a_col] * b[l * b_row + j * b_col];
    }
#pragma GCC unroll 4
    for (int j = 0; j < Columns; ++j) {
      out[j] = beta == T(0) ? alpha * sum[j] : alpha * sum[j] + beta * out[j];
    }
  }
}

template <class T>
void panels(const Product<T>& p) {
  const int64_t bytes = p.n * sizeof(T);
  if (bytes >= kVectorBytes) return panels_of<T, kVectorBytes>(p);
  if (kVectorBytes > 32 && bytes >= 32) return panels_of<T, 32>(p);
  if (kVectorBytes > 16 && bytes >= 16) return panels_of<T, 16>(p);
  if (p.n == 3) return narrow_product<T, 3>(p);
  if (p.n == 2) return narrow_product<T, 2>(p);
  if (p.n == 1) return narrow_product<T, 1>(p);
}

template <class T>
T dot(const T* a, const T* b, int64_t n) {
  using Vector = typename VectorOf<T, kVectorBytes>::Type;
  constexpr int lanes = kVectorBytes / sizeof(T);
  if (n < lanes) {
    T result = 0;
    for (int64_t i = 0; i < n; ++i) result += a[i] * b[i];
    return result;
  }
  Vector sum[4] = {};
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      const int64_t at = i + v * lanes;
      sum[v] += *reinterpret_cast<const Vector*>(a + at) * *reinterpret_cast<const Vector*>(b + at);
    }
  }
  for (; i + lanes <= n; i += lanes) {
    sum[0] += *reinterpret_cast<const Vector*>(a + i) * *reinterpret_cast<const Vector*>(b + i);
  }
  if (i < n) {
    // The last vector reaches back over elements that are counted already, and drops them.
    Vector lane = {};
#pragma GCC unroll 16
    for (int v = 0; v < lanes; ++v) lane[v] = static_cast<T>(v);
    const int64_t at = n - lanes;
    const Vector last = *reinterpret_cast<const Vector*>(a + at) * *reinterpret_cast<const Vector*>(b + at);
    sum[1] += lane >= static_cast<T>(lanes - (n - i)) ? last : Vector{};
  }
  T total[lanes];
  *reinterpret_cast<Vector*>(total) = (sum[0] + sum[1]) + (sum[2] + sum[3]);
#pragma GCC unroll 4
  for (int half = lanes / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
    for (int v = 0; v < half; ++v) total[v] += total[v + half];
  }
  return total[0];
}

/// out[j] += x * in[j], modulo 2^64 or 2^32: a signed overflow is undefined.
template <class T>
void add_multiple(T* __restrict out, T x, const T* __restrict in, int64_t n) {
  using Wrapping = std::make_unsigned_t<T>;
  for (int64_t j = 0; j < n; ++j) {
    out[j] = static_cast<T>(static_cast<Wrapping>(out[j]) + static_cast<Wrapping>(x) * static_cast<Wrapping>(in[j]));
  }
}

template <class T>
constexpr ProductLoops<T> kLoops = {.panels = panels<T>, .dot = dot<T>};
template <class T>
constexpr IntegerLoops<T> kIntegerLoops = {.add_multiple = add_multiple<T>};

}  // namespace

template <class T>
template <Isa>
ProductLoops<T> ProductLoops<T>::compiled() {
  return kLoops<T>;
}
template ProductLoops<float> ProductLoops<float>::compiled<kIsa>();
template ProductLoops<double> ProductLoops<double>::compiled<kIsa>();

template <class T>
template <Isa>
IntegerLoops<T> IntegerLoops<T>::compiled() {
  return kIntegerLoops<T>;
}
template IntegerLoops<int64_t> IntegerLoops<int64_t>::compiled<kIsa>();
template IntegerLoops<int32_t> IntegerLoops<int32_t>::compiled<kIsa>();

}  // namespace adjoint::cpu
