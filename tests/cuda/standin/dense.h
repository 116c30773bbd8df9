// Dense linear algebra by the plainest algorithms, for the stand-ins of cuSOLVER and cuBLAS. Matrices lie column by
// column; conventions are LAPACK's.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

namespace dense {

template <class T>
struct RealOf {
  using type = T;
};
template <class R>
struct RealOf<std::complex<R>> {
  using type = R;
};
template <class T>
using Real = typename RealOf<T>::type;
template <class T>
inline constexpr bool is_complex = !std::is_same_v<T, Real<T>>;

template <class T>
T conjugated(T x) {
  if constexpr (is_complex<T>) return std::conj(x);
  return x;
}
template <class T>
Real<T> size_of(T x) {
  return std::abs(std::real(x)) + std::abs(std::imag(x));
}

template <class T>
struct Matrix {
  T* data;
  int64_t ld;
  T& operator()(int64_t i, int64_t j) const { return data[i + j * ld]; }
};

// ---- Triangles

/// One element of op(A), where `op` is 0, 1 (transposed) or 2 (and conjugated).
template <class T>
T element(Matrix<const T> a, int op, int64_t i, int64_t j) {
  if (op == 0) return a(i, j);
  return op == 2 ? conjugated(a(j, i)) : a(j, i);
}

/// op(A) x = b for one column, the elements of which lie `step` apart.
template <class T>
void solve_triangle(Matrix<const T> a, int64_t n, bool upper, int op, bool unit, T* x, int64_t step) {
  const bool from_below = upper == (op == 0);
  for (int64_t at = 0; at < n; ++at) {
    const int64_t i = from_below ? n - 1 - at : at;
    T sum = x[i * step];
    for (int64_t j = from_below ? i + 1 : 0; j < (from_below ? n : i); ++j) sum -= element(a, op, i, j) * x[j * step];
    x[i * step] = unit ? sum : sum / element(a, op, i, i);
  }
}

template <class T>
void trsm(bool left, bool upper, int op, bool unit, int64_t m, int64_t n, T alpha, Matrix<const T> a, Matrix<T> b) {
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = 0; i < m; ++i) b(i, j) *= alpha;
  if (left) {
    for (int64_t j = 0; j < n; ++j) solve_triangle(a, m, upper, op, unit, &b(0, j), 1);
    return;
  }
  // X op(A) = B is op(A)^T X^T = B^T.
  std::vector<T> copy(static_cast<size_t>(n * n));
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = 0; i < n; ++i) copy[static_cast<size_t>(i + j * n)] = element(a, op, j, i);
  for (int64_t i = 0; i < m; ++i)
    solve_triangle(Matrix<const T>{copy.data(), n}, n, upper != (op == 0), 0, unit, &b(i, 0), b.ld);
}

// ---- Factors

/// Does not look for nan, as a library may not.
template <class T>
int potrf(bool upper, int64_t n, Matrix<T> a) {
  auto get = [&](int64_t i, int64_t j) { return upper ? conjugated(a(j, i)) : a(i, j); };
  auto set = [&](int64_t i, int64_t j, T x) { (upper ? a(j, i) : a(i, j)) = upper ? conjugated(x) : x; };
  for (int64_t j = 0; j < n; ++j) {
    Real<T> size = std::real(get(j, j));
    for (int64_t k = 0; k < j; ++k) size -= std::norm(get(j, k));
    if (size <= 0) return static_cast<int>(j + 1);
    const Real<T> root = std::sqrt(size);
    set(j, j, T(root));
    for (int64_t i = j + 1; i < n; ++i) {
      T sum = get(i, j);
      for (int64_t k = 0; k < j; ++k) sum -= get(i, k) * conjugated(get(j, k));
      set(i, j, sum / root);
    }
  }
  return 0;
}

template <class T>
int getrf(int64_t m, int64_t n, Matrix<T> a, int* pivots) {
  int info = 0;
  for (int64_t k = 0; k < std::min(m, n); ++k) {
    int64_t best = k;
    for (int64_t i = k + 1; i < m; ++i)
      if (size_of(a(i, k)) > size_of(a(best, k))) best = i;
    pivots[k] = static_cast<int>(best + 1);
    if (a(best, k) == T(0)) {
      if (info == 0) info = static_cast<int>(k + 1);
      continue;
    }
    for (int64_t j = 0; best != k && j < n; ++j) std::swap(a(k, j), a(best, j));
    for (int64_t i = k + 1; i < m; ++i) {
      a(i, k) /= a(k, k);
      for (int64_t j = k + 1; j < n; ++j) a(i, j) -= a(i, k) * a(k, j);
    }
  }
  return info;
}

template <class T>
void getrs(int op, int64_t n, int64_t sides, Matrix<const T> a, const int* pivots, Matrix<T> b) {
  auto swap = [&](int64_t i) {
    for (int64_t j = 0; j < sides; ++j) std::swap(b(i, j), b(pivots[i] - 1, j));
  };
  for (int64_t i = 0; op == 0 && i < n; ++i) swap(i);
  for (int64_t j = 0; j < sides; ++j) {
    solve_triangle(a, n, op != 0, op, op == 0, &b(0, j), 1);
    solve_triangle(a, n, op == 0, op, op != 0, &b(0, j), 1);
  }
  for (int64_t i = n; op != 0 && i-- > 0;) swap(i);
}

/// Bunch and Kaufman's pivots.
template <class T>
int sytrf(int64_t n, Matrix<T> a, int* pivots) {
  using R = Real<T>;
  const R alpha = (1 + std::sqrt(R(17))) / 8;
  int info = 0;
  for (int64_t k = 0, step; k < n; k += step) {
    step = 1;
    int64_t kept = k, greatest = k;
    const R here = size_of(a(k, k));
    R column = 0;
    for (int64_t i = k + 1; i < n; ++i)
      if (size_of(a(i, k)) > column) column = size_of(a(greatest = i, k));
    if (std::max(here, column) == 0) {
      if (info == 0) info = static_cast<int>(k + 1);
      pivots[k] = static_cast<int>(k + 1);
      continue;
    }
    if (here < alpha * column) {
      R row = 0;
      for (int64_t j = k; j < greatest; ++j) row = std::max(row, size_of(a(greatest, j)));
      for (int64_t i = greatest + 1; i < n; ++i) row = std::max(row, size_of(a(i, greatest)));
      if (here < alpha * column * (column / row)) {
        kept = greatest;
        if (size_of(a(greatest, greatest)) < alpha * row) step = 2;
      }
    }
    const int64_t last = k + step - 1;
    if (kept != last) {
      for (int64_t i = kept + 1; i < n; ++i) std::swap(a(i, last), a(i, kept));
      for (int64_t i = last + 1; i < kept; ++i) std::swap(a(i, last), a(kept, i));
      std::swap(a(last, last), a(kept, kept));
      if (step == 2) std::swap(a(k + 1, k), a(kept, k));
    }
    if (step == 1) {
      const T factor = T(1) / a(k, k);
      for (int64_t j = k + 1; j < n; ++j)
        for (int64_t i = j; i < n; ++i) a(i, j) -= factor * a(i, k) * a(j, k);
      for (int64_t i = k + 1; i < n; ++i) a(i, k) *= factor;
      pivots[k] = static_cast<int>(kept + 1);
      continue;
    }
    const T side = a(k + 1, k), first = a(k + 1, k + 1) / side, second = a(k, k) / side;
    const T factor = T(1) / (first * second - T(1)) / side;
    for (int64_t j = k + 2; j < n; ++j) {
      const T left = factor * (first * a(j, k) - a(j, k + 1)), right = factor * (second * a(j, k + 1) - a(j, k));
      for (int64_t i = j; i < n; ++i) a(i, j) -= a(i, k) * left + a(i, k + 1) * right;
      a(j, k) = left;
      a(j, k + 1) = right;
    }
    pivots[k] = pivots[k + 1] = -static_cast<int>(kept + 1);
  }
  return info;
}

template <class T>
void sytrs(int64_t n, int64_t sides, Matrix<const T> a, const int64_t* pivots, Matrix<T> b) {
  for (int64_t c = 0; c < sides; ++c) {
    T* x = &b(0, c);
    int64_t k = 0;
    while (k < n) {
      const int64_t step = pivots[k] > 0 ? 1 : 2, other = std::abs(pivots[k]) - 1;
      std::swap(x[k + step - 1], x[other]);
      for (int64_t i = k + step; i < n; ++i)
        for (int64_t j = k; j < k + step; ++j) x[i] -= a(i, j) * x[j];
      if (step == 1) {
        x[k] /= a(k, k);
      } else {
        const T side = a(k + 1, k), above = a(k, k) / side, below = a(k + 1, k + 1) / side;
        const T rest = above * below - T(1), first = x[k] / side, second = x[k + 1] / side;
        x[k] = (below * first - second) / rest;
        x[k + 1] = (above * second - first) / rest;
      }
      k += step;
    }
    for (k = n - 1; k >= 0;) {
      const int64_t step = pivots[k] > 0 ? 1 : 2, other = std::abs(pivots[k]) - 1;
      for (int64_t j = k; j > k - step; --j)
        for (int64_t i = k + 1; i < n; ++i) x[j] -= a(i, j) * x[i];
      std::swap(x[k], x[other]);
      k -= step;
    }
  }
}

// ---- Reflectors

/// c = (I - tau v v^H) c, where v has a 1 first and the column's elements below; `from` is its row.
template <class T>
void reflect(const T* column, int64_t from, int64_t m, T tau, T* c, int64_t step) {
  T sum = c[from * step];
  for (int64_t i = from + 1; i < m; ++i) sum += conjugated(column[i]) * c[i * step];
  sum *= tau;
  c[from * step] -= sum;
  for (int64_t i = from + 1; i < m; ++i) c[i * step] -= column[i] * sum;
}

template <class T>
void geqrf(int64_t m, int64_t n, Matrix<T> a, T* tau) {
  using R = Real<T>;
  for (int64_t k = 0; k < std::min(m, n); ++k) {
    R below = 0;
    for (int64_t i = k + 1; i < m; ++i) below += std::norm(a(i, k));
    const T alpha = a(k, k);
    tau[k] = T(0);
    if (below == 0 && std::imag(alpha) == 0) continue;
    const R beta = -std::copysign(std::sqrt(std::norm(alpha) + below), std::real(alpha));
    tau[k] = (T(beta) - alpha) / beta;
    for (int64_t i = k + 1; i < m; ++i) a(i, k) /= alpha - T(beta);
    a(k, k) = T(beta);
    for (int64_t j = k + 1; j < n; ++j) reflect(&a(0, k), k, m, conjugated(tau[k]), &a(0, j), 1);
  }
}

/// C = op(Q) C, or C op(Q).
template <class T>
void ormqr(bool left, bool adjoint, int64_t m, int64_t n, int64_t k, Matrix<const T> a, const T* tau, Matrix<T> c) {
  const bool forward = left == adjoint;
  std::vector<T> column(static_cast<size_t>(left ? m : n));
  for (int64_t at = 0; at < k; ++at) {
    const int64_t i = forward ? at : k - 1 - at, size = left ? m : n;
    for (int64_t row = 0; row < size; ++row) column[static_cast<size_t>(row)] = a(row, i);
    T factor = adjoint ? conjugated(tau[i]) : tau[i];
    if (left) {
      for (int64_t j = 0; j < n; ++j) reflect(column.data(), i, m, factor, &c(0, j), 1);
    } else {  // rows: the transpose of the reflector, with conjugated elements
      for (T& x : column) x = conjugated(x);
      for (int64_t row = 0; row < m; ++row) reflect(column.data(), i, n, factor, &c(row, 0), c.ld);
    }
  }
}

template <class T>
void orgqr(int64_t m, int64_t n, int64_t k, Matrix<T> a, const T* tau) {
  std::vector<T> q(static_cast<size_t>(m * n));
  for (int64_t i = 0; i < n; ++i) q[static_cast<size_t>(i + i * m)] = T(1);
  ormqr(true, false, m, n, k, Matrix<const T>{a.data, a.ld}, tau, Matrix<T>{q.data(), m});
  for (int64_t j = 0; j < n; ++j) std::copy_n(q.data() + j * m, m, &a(0, j));
}

// ---- Spectra, in double

using Complex = std::complex<double>;
using Square = std::vector<Complex>;

/// Turns two columns so that their product vanishes: of sizes `first` and `second`, with the product `between`.
struct Turn {
  double c = 1, s = 0;
  Complex phase = 1;
  Turn(double first, double second, Complex between) {
    const double size = std::abs(between);
    if (size == 0) return;
    phase = std::conj(between / size);
    const double ratio = (second - first) / (2 * size);
    const double t = (ratio < 0 ? -1 : 1) / (std::abs(ratio) + std::sqrt(1 + ratio * ratio));
    c = 1 / std::sqrt(1 + t * t);
    s = t * c;
  }
  void apply(Complex& p, Complex& q) const {
    const Complex old = p, other = phase * q;
    p = c * old - s * other;
    q = s * old + c * other;
  }
  void apply_conjugate(Complex& p, Complex& q) const {
    const Complex old = p, other = std::conj(phase) * q;
    p = c * old - s * other;
    q = s * old + c * other;
  }
};

constexpr int kSweeps = 60;

/// Jacobi's method: values in rising order, vectors in place of the matrix.
inline std::vector<double> eigh(int64_t n, Square& a) {
  auto at = [n](Square& m, int64_t i, int64_t j) -> Complex& { return m[static_cast<size_t>(i + j * n)]; };
  Square v(a.size());
  for (int64_t i = 0; i < n; ++i) at(v, i, i) = 1;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    double off = 0, all = 0;
    for (int64_t j = 0; j < n; ++j)
      for (int64_t i = 0; i < n; ++i) (i == j ? all : off) += std::norm(at(a, i, j));
    if (off <= 1e-33 * all) break;
    for (int64_t p = 0; p < n; ++p) {
      for (int64_t q = p + 1; q < n; ++q) {
        const Turn turn(at(a, p, p).real(), at(a, q, q).real(), at(a, p, q));
        for (int64_t i = 0; i < n; ++i) turn.apply(at(a, i, p), at(a, i, q));
        for (int64_t i = 0; i < n; ++i) turn.apply_conjugate(at(a, p, i), at(a, q, i));
        for (int64_t i = 0; i < n; ++i) turn.apply(at(v, i, p), at(v, i, q));
      }
    }
  }
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t x, int64_t y) { return at(a, x, x).real() < at(a, y, y).real(); });
  std::vector<double> values;
  Square sorted;
  for (int64_t j : order) {
    values.push_back(at(a, j, j).real());
    sorted.insert(sorted.end(), v.begin() + j * n, v.begin() + (j + 1) * n);
  }
  a = sorted;
  return values;
}

/// Columns that are orthogonal to those before them, up to `columns` of n elements; the first `given` are there.
inline void complete(int64_t n, int64_t given, int64_t columns, Square& u) {
  u.resize(static_cast<size_t>(given * n));
  for (int64_t unit = 0; given < columns; ++unit) {
    Square column(static_cast<size_t>(n));
    column[static_cast<size_t>(unit)] = 1;
    for (int repeat = 0; repeat < 2; ++repeat) {
      for (int64_t j = 0; j < given; ++j) {
        Complex sum = 0;
        for (int64_t i = 0; i < n; ++i)
          sum += std::conj(u[static_cast<size_t>(i + j * n)]) * column[static_cast<size_t>(i)];
        for (int64_t i = 0; i < n; ++i) column[static_cast<size_t>(i)] -= sum * u[static_cast<size_t>(i + j * n)];
      }
    }
    double size = 0;
    for (const Complex& x : column) size += std::norm(x);
    if (size < 1e-6 / static_cast<double>(n)) continue;
    for (const Complex& x : column) u.push_back(x / std::sqrt(size));
    ++given;
  }
}

struct Svd {
  std::vector<double> values;
  Square u, v;  ///< all columns
};

/// Jacobi's method on the columns of a matrix with no more columns than rows.
inline Svd svd(int64_t m, int64_t n, Square a) {
  if (m < n) {
    Square adjoint(a.size());
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        adjoint[static_cast<size_t>(j + i * n)] = std::conj(a[static_cast<size_t>(i + j * m)]);
    Svd other = svd(n, m, std::move(adjoint));
    std::swap(other.u, other.v);
    return other;
  }
  auto column = [](Square& x, int64_t rows, int64_t j) { return x.data() + j * rows; };
  Square v(static_cast<size_t>(n * n));
  for (int64_t i = 0; i < n; ++i) v[static_cast<size_t>(i + i * n)] = 1;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    bool turned = false;
    for (int64_t p = 0; p < n; ++p) {
      for (int64_t q = p + 1; q < n; ++q) {
        Complex *x = column(a, m, p), *y = column(a, m, q), between = 0;
        double first = 0, second = 0;
        for (int64_t i = 0; i < m; ++i) {
          first += std::norm(x[i]);
          second += std::norm(y[i]);
          between += std::conj(x[i]) * y[i];
        }
        if (std::abs(between) <= 1e-16 * std::sqrt(first * second)) continue;
        turned = true;
        const Turn turn(first, second, between);
        for (int64_t i = 0; i < m; ++i) turn.apply(x[i], y[i]);
        for (int64_t i = 0; i < n; ++i) turn.apply(column(v, n, p)[i], column(v, n, q)[i]);
      }
    }
    if (!turned) break;
  }
  std::vector<double> sizes;
  for (int64_t j = 0; j < n; ++j) {
    double size = 0;
    for (int64_t i = 0; i < m; ++i) size += std::norm(column(a, m, j)[i]);
    sizes.push_back(std::sqrt(size));
  }
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t x, int64_t y) { return sizes[static_cast<size_t>(x)] > sizes[static_cast<size_t>(y)]; });
  Svd result;
  int64_t rank = 0;
  for (int64_t j : order) {
    const double size = sizes[static_cast<size_t>(j)];
    result.values.push_back(size);
    result.v.insert(result.v.end(), column(v, n, j), column(v, n, j) + n);
    if (size <= 1e-15 * result.values[0] || size == 0) continue;
    ++rank;
    for (int64_t i = 0; i < m; ++i) result.u.push_back(column(a, m, j)[i] / size);
  }
  complete(m, rank, m, result.u);
  complete(n, n, n, result.v);
  return result;
}

/// Schur's form of a general matrix by the QR method with Wilkinson's shifts, and eigenvectors from it by
/// substitution: of size 1, the greatest element real.
inline std::vector<Complex> eig(int64_t n, Square& a) {
  auto at = [n](Square& m, int64_t i, int64_t j) -> Complex& { return m[static_cast<size_t>(i + j * n)]; };
  Square q(a.size());
  for (int64_t i = 0; i < n; ++i) at(q, i, i) = 1;
  // Turns rows (and columns, to stay similar) so that the element (j, k) vanishes.
  auto turn = [&](int64_t i, int64_t j, Complex x, Complex y) {
    const double size = std::hypot(std::abs(x), std::abs(y));
    if (size == 0) return;
    const Complex c = x / size, s = y / size;
    for (int64_t k = 0; k < n; ++k) {
      const Complex p = at(a, i, k), r = at(a, j, k);
      at(a, i, k) = std::conj(c) * p + std::conj(s) * r;
      at(a, j, k) = -s * p + c * r;
    }
    for (Square* m : {&a, &q}) {
      for (int64_t k = 0; k < n; ++k) {
        const Complex p = at(*m, k, i), r = at(*m, k, j);
        at(*m, k, i) = c * p + s * r;
        at(*m, k, j) = -std::conj(s) * p + std::conj(c) * r;
      }
    }
  };
  for (int64_t k = 0; k + 2 < n; ++k)
    for (int64_t i = n - 1; i > k + 1; --i) turn(i - 1, i, at(a, i - 1, k), at(a, i, k));
  double scale = 0;
  for (const Complex& x : a) scale = std::max(scale, std::abs(x));
  int tries = 0;
  for (int64_t last = n - 1; last > 0;) {
    int64_t first = last;
    while (first > 0) {
      const double around = std::abs(at(a, first, first)) + std::abs(at(a, first - 1, first - 1));
      if (std::abs(at(a, first, first - 1)) <= 1e-16 * (around == 0 ? scale : around)) {
        at(a, first, first - 1) = 0;
        break;
      }
      --first;
    }
    if (first == last || ++tries > 200) {
      --last;
      tries = 0;
      continue;
    }
    const Complex d = at(a, last, last), mean = (at(a, last - 1, last - 1) + d) / 2.0;
    const Complex root = std::sqrt((at(a, last - 1, last - 1) - d) * (at(a, last - 1, last - 1) - d) / 4.0 +
                                   at(a, last - 1, last) * at(a, last, last - 1));
    Complex shift = std::abs(mean + root - d) < std::abs(mean - root - d) ? mean + root : mean - root;
    if (tries % 11 == 10) shift += std::abs(at(a, last, last - 1));
    // One step by chasing what the first turn fills in.
    turn(first, first + 1, at(a, first, first) - shift, at(a, first + 1, first));
    for (int64_t k = first; k + 2 <= last; ++k) {
      turn(k + 1, k + 2, at(a, k + 1, k), at(a, k + 2, k));
      at(a, k + 2, k) = 0;
    }
  }
  std::vector<Complex> values;
  Square vectors;
  for (int64_t k = 0; k < n; ++k) {
    const Complex value = at(a, k, k);
    values.push_back(value);
    Square y(static_cast<size_t>(n)), x(static_cast<size_t>(n));
    y[static_cast<size_t>(k)] = 1;
    for (int64_t i = k; i-- > 0;) {
      Complex sum = 0;
      for (int64_t j = i + 1; j <= k; ++j) sum -= at(a, i, j) * y[static_cast<size_t>(j)];
      Complex gap = at(a, i, i) - value;
      if (std::abs(gap) < 1e-16 * scale) gap = 1e-16 * scale;
      y[static_cast<size_t>(i)] = sum / gap;
    }
    double size = 0;
    Complex greatest = 0;
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j <= k; ++j) x[static_cast<size_t>(i)] += at(q, i, j) * y[static_cast<size_t>(j)];
      size += std::norm(x[static_cast<size_t>(i)]);
      if (std::abs(x[static_cast<size_t>(i)]) > std::abs(greatest) * (1 + 1e-12)) greatest = x[static_cast<size_t>(i)];
    }
    for (const Complex& element : x)
      vectors.push_back(element * std::conj(greatest) / std::abs(greatest) / std::sqrt(size));
  }
  a = vectors;
  return values;
}

}  // namespace dense
