// What is left to do around cuSOLVER: diagonals, row swaps, values that are not finite, the exponential's sums.
#pragma once

#include "block.h"
#include "core/dtype.h"
#include "linalg_args.h"
#include "walk.h"

namespace adjoint::cuda {

template <class T>
inline bool is_finite(T x) {
  if constexpr (is_complex_v<T>) {
    return std::isfinite(x.real()) && std::isfinite(x.imag());
  } else {
    return std::isfinite(x);
  }
}
template <class T>
inline Real<T> real_part(T x) {
  if constexpr (is_complex_v<T>) {
    return x.real();
  } else {
    return x;
  }
}
template <class T>
inline T conjugated(T x) {
  if constexpr (is_complex_v<T>) {
    return T(x.real(), -x.imag());
  } else {
    return x;
  }
}

inline void list_addresses(const AddressArgs& args) {
  const int64_t number = thread_number<int64_t>();
  if (number >= args.walk.numel) return;
  int64_t at[1];
  walk_to(args.walk, number, at);
  args.out[number] = args.data + at[0] * args.itemsize;
}

// ---- Diagonals: a warp for each matrix

template <class A>
struct Least {
  using State = A;
  static A join(A a, A b) { return b < a ? b : a; }
};
template <class A>
struct Product {
  using State = A;
  static A join(A a, A b) { return a * b; }
};

/// The info of a matrix becomes the first place that is wrong.
template <class T, class Wrong>
inline void note_diagonal(const DiagonalArgs& args, Wrong wrong) {
  const int64_t matrix = blockIdx.x;
  if (args.integers[matrix] != 0) return;
  const T* diagonal = reinterpret_cast<const T*>(args.data) + matrix * args.matrix;
  int64_t first = args.n;
  for (int64_t i = threadIdx.x; i < args.n && first == args.n; i += kDiagonalThreads)
    if (wrong(diagonal[i * args.step])) first = i;
  first = joined_by_all<kDiagonalThreads, kDiagonalThreads, Least<int64_t>>(first);
  if (threadIdx.x == 0 && first < args.n) args.integers[matrix] = static_cast<int32_t>(first + 1);
}
template <class T>
inline void note_nan_diagonal(const DiagonalArgs& args) {
  note_diagonal<T>(args, [](T x) { return std::isnan(real_part(x)); });
}
template <class T>
inline void note_zero_diagonal(const DiagonalArgs& args) {
  note_diagonal<T>(args, [](T x) { return x == T(0); });
}

/// The product of -1 for each swap that is one, over this thread's rows.
template <class T>
inline T sign_of_swaps(const DiagonalArgs& args, int64_t matrix) {
  bool odd = false;
  for (int64_t i = threadIdx.x; i < args.n; i += kDiagonalThreads) odd ^= args.integers[matrix * args.n + i] != i + 1;
  return T(odd ? -1 : 1);
}

template <class T>
inline void det(const DiagonalArgs& args) {
  const int64_t matrix = blockIdx.x;
  const T* diagonal = reinterpret_cast<const T*>(args.data) + matrix * args.matrix;
  T value = sign_of_swaps<T>(args, matrix);
  for (int64_t i = threadIdx.x; i < args.n; i += kDiagonalThreads) value *= diagonal[i * args.step];
  value = joined_by_all<kDiagonalThreads, kDiagonalThreads, Product<T>>(value);
  if (threadIdx.x == 0) reinterpret_cast<T*>(args.out)[matrix] = value;
}

template <class T>
inline void slogdet(const DiagonalArgs& args) {
  using R = Real<T>;
  const int64_t matrix = blockIdx.x;
  const T* diagonal = reinterpret_cast<const T*>(args.data) + matrix * args.matrix;
  T sign = sign_of_swaps<T>(args, matrix);
  R log(0);
  for (int64_t i = threadIdx.x; i < args.n; i += kDiagonalThreads) {
    const T value = diagonal[i * args.step];
    const R size = std::abs(value);
    log += std::log(size);
    sign *= size == 0 ? value : value / size;
  }
  sign = joined_by_all<kDiagonalThreads, kDiagonalThreads, Product<T>>(sign);
  log = joined_by_all<kDiagonalThreads, kDiagonalThreads, Sums::Of<R>>(log);
  if (threadIdx.x != 0) return;
  reinterpret_cast<T*>(args.out)[matrix] = sign;
  reinterpret_cast<R*>(args.logs)[matrix] = log;
}

// ---- Row swaps

/// Each thread has one row of a matrix: where it came from is found by undoing the swaps, the last one first. The
/// matrices are zero before.
template <class T>
inline void permutation(const PermutationArgs& args) {
  const int64_t number = thread_number<int64_t>();
  if (number >= args.count * args.rows) return;
  const int64_t matrix = number / args.rows, row = number - matrix * args.rows;
  const int32_t* swaps = args.swaps + matrix * args.swaps_each;
  int64_t at = row;
  for (int64_t i = args.swaps_each - 1; i >= 0; --i) {
    const int64_t other = swaps[i] - 1;
    if (at == i) {
      at = other;
    } else if (at == other) {
      at = i;
    }
  }
  reinterpret_cast<T*>(args.out)[(matrix * args.rows + at) * args.rows + row] = convert<T>(1.0);
}

// ---- Values that are not finite

/// marks[0] becomes 1 where some element is not finite.
template <class T>
inline void find_nonfinite(const FiniteArgs& args) {
  const int64_t number = thread_number<int64_t>();
  if (number < args.size && !is_finite(reinterpret_cast<const T*>(args.data)[number])) args.marks[0] = 1;
}

/// A matrix with such elements is marked and becomes zero, so that every algorithm ends: a block for each.
template <class T>
inline void set_aside_nonfinite(const FiniteArgs& args) {
  T* values = reinterpret_cast<T*>(args.data) + static_cast<int64_t>(blockIdx.x) * args.size;
  int32_t mark = 0;
  for (int64_t i = threadIdx.x; i < args.size; i += kMatrixThreads) mark |= !is_finite(values[i]);
  mark = joined_by_all<kMatrixThreads, kMatrixThreads, Greatest::Of<int32_t>>(mark);
  if (threadIdx.x == 0) args.marks[blockIdx.x] = mark;
  if (mark == 0) return;
  for (int64_t i = threadIdx.x; i < args.size; i += kMatrixThreads) values[i] = T(0);
}

/// Marked matrices have failed, as LAPACK's fourth argument.
inline void fail_marked(const SpoilArgs& args) {
  if (threadIdx.x == 0 && args.marks[blockIdx.x]) args.infos[blockIdx.x] = -4;
}
/// The spectra of marked matrices are nan.
template <class T>
inline void spoil_marked(const SpoilArgs& args) {
  using R = Real<T>;
  const int64_t matrix = blockIdx.x;
  if (!args.marks[matrix]) return;
  constexpr R nan = std::numeric_limits<R>::quiet_NaN();
  R* values = reinterpret_cast<R*>(args.values) + matrix * args.values_each;
  T* vectors = reinterpret_cast<T*>(args.vectors) + matrix * args.vectors_each;
  for (int64_t i = threadIdx.x; i < args.values_each; i += kMatrixThreads) values[i] = nan;
  for (int64_t i = threadIdx.x; i < args.vectors_each; i += kMatrixThreads) vectors[i] = T(nan);
  if (threadIdx.x == 0) args.infos[matrix] = 0;
}

// ---- Others

/// One triangle becomes the conjugate of the other one, the diagonal real.
template <class T>
inline void mirror(const MirrorArgs& args) {
  const int64_t number = thread_number<int64_t>();
  if (number >= args.numel) return;
  const int64_t line = number / args.n, row = number - line * args.n, matrix = line / args.n,
                column = line - matrix * args.n;
  T* values = reinterpret_cast<T*>(args.data) + matrix * args.n * args.n;
  if (row == column) {
    values[column * args.n + row] = T(real_part(values[column * args.n + row]));
  } else if ((row > column) == (args.upper != 0)) {
    values[column * args.n + row] = conjugated(values[row * args.n + column]);
  }
}

/// Sums of squared sizes: a warp for each column.
template <class T>
inline void residuals(const ResidualArgs& args) {
  using R = Real<T>;
  const T* column = reinterpret_cast<const T*>(args.data) + static_cast<int64_t>(blockIdx.x) * args.rows;
  R sum(0);
  for (int64_t i = args.from + threadIdx.x; i < args.rows; i += kDiagonalThreads)
    sum += real_part(column[i] * conjugated(column[i]));
  sum = joined_by_all<kDiagonalThreads, kDiagonalThreads, Sums::Of<R>>(sum);
  if (threadIdx.x == 0) reinterpret_cast<R*>(args.out)[blockIdx.x] = sum;
}

/// Whether a value is the second of a pair is told by the sign: the first has the positive imaginary part.
template <class R>
inline void unpack_pairs(const PairArgs& args) {
  using C = std::complex<R>;
  const int64_t number = thread_number<int64_t>();
  if (number >= args.numel) return;
  const int64_t column = number / args.n;  // of all matrices
  const R part = reinterpret_cast<const C*>(args.values)[column].imag();
  const R* vectors = reinterpret_cast<const R*>(args.vectors);
  C value(vectors[number], R(0));
  if (part > R(0)) value = C(vectors[number], vectors[number + args.n]);
  if (part < R(0)) value = C(vectors[number - args.n], -vectors[number]);
  reinterpret_cast<C*>(args.out)[number] = value;
}

// ---- The exponential

/// The greatest sum of sizes along the first dimension: a block for each matrix.
template <class T>
inline void one_norm(const OneNormArgs& args) {
  const T* values = reinterpret_cast<const T*>(args.data) + static_cast<int64_t>(blockIdx.x) * args.n * args.n;
  double greatest = 0;
  for (int64_t j = threadIdx.x; j < args.n; j += kMatrixThreads) {
    double sum = 0;
    for (int64_t i = 0; i < args.n; ++i) sum += static_cast<double>(std::abs(values[i * args.n + j]));
    greatest = Greatest::Of<double>::join(greatest, sum);
  }
  greatest = joined_by_all<kMatrixThreads, kMatrixThreads, Greatest::Of<double>>(greatest);
  if (threadIdx.x == 0) args.norms[blockIdx.x] = greatest;
}

/// What is not finite becomes zero here and nan in the end.
template <class T>
inline void scale_down(const ScaleArgs& args) {
  const int64_t number = thread_number<int64_t>();
  if (number >= args.numel) return;
  const double norm = args.norms[number / args.size];
  T& value = reinterpret_cast<T*>(args.data)[number];
  if (!std::isfinite(norm)) {
    value = T(0);
  } else {
    value *= T(static_cast<Real<T>>(std::ldexp(1.0, -squarings(norm, args.limit))));
  }
}

template <class T>
inline void combine(const CombineArgs& args) {
  using R = Real<T>;
  const int64_t number = thread_number<int64_t>();
  if (number >= args.numel) return;
  const int64_t line = number / args.n;
  T sum(line % args.n == number - line * args.n ? static_cast<R>(args.identity) : R(0));
  for (int i = 0; i < args.count; ++i)
    sum += T(static_cast<R>(args.factors[i])) * reinterpret_cast<const T*>(args.powers[i])[number];
  reinterpret_cast<T*>(args.out)[number] = sum;
}

template <class T>
inline void fraction(const FractionArgs& args) {
  const int64_t number = thread_number<int64_t>();
  if (number >= args.numel) return;
  T* even = reinterpret_cast<T*>(args.even) + number;
  const T odd = reinterpret_cast<const T*>(args.odd)[number];
  reinterpret_cast<T*>(args.a)[number] = *even + odd;
  *even = *even - odd;
}

template <class T>
inline void take_squares(const SquareArgs& args) {
  const int64_t number = thread_number<int64_t>();
  if (number >= args.numel) return;
  const double norm = args.norms[number / args.size];
  T* value = reinterpret_cast<T*>(args.data) + number;
  if (!std::isfinite(norm)) {
    *value = T(std::numeric_limits<Real<T>>::quiet_NaN());
  } else if (squarings(norm, args.limit) > args.done) {
    *value = reinterpret_cast<const T*>(args.squares)[number];
  }
}

}  // namespace adjoint::cuda
