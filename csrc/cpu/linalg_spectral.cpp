// Singular values, eigenvalues, and the exponential of matrices.
#include <cmath>
#include <limits>

#include "cpu/linalg.h"
#include "cpu/linalg_batch.h"
#include "kernels/pade.h"

namespace adjoint::cpu {
namespace {

using kernels::kPadeDouble;
using kernels::kPadeFloat;
using kernels::Pade;

template <class T>
bool all_finite(const T* values, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    if (!std::isfinite(std::real(values[i])) || !std::isfinite(std::imag(values[i]))) return false;
  return true;
}

}  // namespace

bool has_nonfinite(const View& in) {
  bool finite = true;
  with_lapack_type(in.dtype, [&](auto tag) { finite = all_finite(in.as<decltype(tag)>(), in.numel()); });
  return !finite;
}

// ---- Singular values

void svd(const View& a, const View& u, const View& s, const View& vh, const View& infos, SvdVectors vectors) {
  const int64_t m = rows_of(a), n = cols_of(a), k = std::min(m, n), count = batch_of(a);
  const bool wanted = vectors != SvdVectors::None;
  with_lapack_type(a.dtype, [&](auto tag) {
    using T = decltype(tag);
    using R = lapack::Real<T>;
    // Without vectors, the places for them are not touched.
    Columns matrices = Columns::of(a), left = Columns::of(wanted ? u : a), right = Columns::of(wanted ? vh : a);
    if (k == 0) {
      std::fill(infos.as<int32_t>(), infos.as<int32_t>() + count, 0);
      for (int64_t i = 0; wanted && i < count; ++i) {
        fill_identity(left.at<T>(i), m, cols_of(u), left.ld());
        fill_identity(right.at<T>(i), rows_of(vh), n, right.ld());
      }
      return;
    }
    auto& lapack = lapack::routines<T>();
    const char job = !wanted ? 'N' : vectors == SvdVectors::Full ? 'A' : 'S';
    auto run = [&](int64_t i, R* values, T* work, Int lwork, [[maybe_unused]] R* rwork, Int* iwork) {
      T *matrix = matrices.at<T>(i), *lefts = wanted ? left.at<T>(i) : nullptr;
      T* rights = wanted ? right.at<T>(i) : nullptr;
      const Int ld = matrices.ld(), ldu = wanted ? left.ld() : 1, ldv = wanted ? right.ld() : 1;
      if constexpr (is_complex_v<T>) {
        return lapack.gesdd(kColumnMajor, job, m, n, matrix, ld, values, lefts, ldu, rights, ldv, work, lwork, rwork,
                            iwork);
      } else {
        return lapack.gesdd(kColumnMajor, job, m, n, matrix, ld, values, lefts, ldu, rights, ldv, work, lwork, iwork);
      }
    };
    T answer(1);
    R unused(0);
    Int unused_integer = 0;
    if (count) run(0, s.as<R>(), &answer, -1, &unused, &unused_integer);
    const Int lwork = work_size(answer), larger = std::max(m, n);
    const Int lrwork = !is_complex_v<T> ? 1
                       : wanted         ? std::max(5 * k * k + 5 * k, 2 * larger * k + 2 * k * k + k)
                                        : 7 * k;
    Scratch measure(nullptr);
    measure.take<T>(lwork), measure.take<R>(lrwork), measure.take<Int>(8 * k);
    const double flops = (wanted ? 20.0 : 4.0) * static_cast<double>(larger) * static_cast<double>(k * k);
    for_each_matrix(count, flops, measure.used(), [&](int64_t i, char* memory) {
      Scratch scratch(memory);
      T* work = scratch.take<T>(lwork);
      R* rwork = scratch.take<R>(lrwork);
      Int* iwork = scratch.take<Int>(8 * k);
      const bool finite = all_finite(matrices.at<T>(i), m * n);
      infos.as<int32_t>()[i] = finite ? static_cast<int32_t>(run(i, s.as<R>() + i * k, work, lwork, rwork, iwork)) : -4;
    });
  });
}

// ---- Eigenvalues

void eigh(const View& a, const View& values, const View& infos, bool upper, bool with_vectors) {
  const int64_t n = rows_of(a);
  with_lapack_type(a.dtype, [&](auto tag) {
    using T = decltype(tag);
    using R = lapack::Real<T>;
    auto& lapack = lapack::routines<T>();
    Columns vectors = Columns::of(a);
    const char job = with_vectors ? 'V' : 'N', uplo = upper ? 'U' : 'L';
    auto run = [&](T* matrix, R* w, T* work, Int lwork, [[maybe_unused]] R* rwork, [[maybe_unused]] Int lrwork,
                   Int* iwork, Int liwork) {
      const Int ld = vectors.ld();
      if constexpr (is_complex_v<T>) {
        return lapack.syevd(kColumnMajor, job, uplo, n, matrix, ld, w, work, lwork, rwork, lrwork, iwork, liwork);
      } else {
        return lapack.syevd(kColumnMajor, job, uplo, n, matrix, ld, w, work, lwork, iwork, liwork);
      }
    };
    T answer(1);
    R real_answer(1);
    Int liwork = 1;
    if (n) run(nullptr, nullptr, &answer, -1, &real_answer, -1, &liwork, -1);
    const Int lwork = work_size(answer), lrwork = work_size(real_answer);
    Scratch measure(nullptr);
    measure.take<T>(lwork), measure.take<R>(lrwork), measure.take<Int>(liwork);
    const double flops = (with_vectors ? 9.0 : 4.0 / 3) * cubed(n);
    for_each_matrix(batch_of(a), flops, measure.used(), [&](int64_t i, char* memory) {
      Scratch scratch(memory);
      T* work = scratch.take<T>(lwork);
      R* rwork = scratch.take<R>(lrwork);
      Int* iwork = scratch.take<Int>(liwork);
      T* matrix = vectors.at<T>(i);
      R* w = values.as<R>() + i * n;
      Int failed = 0;
      if (all_finite(matrix, n * n)) {
        if (n) failed = run(matrix, w, work, lwork, rwork, lrwork, iwork, liwork);
      } else {
        // As torch has it: nan in, nan out. LAPACK may not come back.
        constexpr R nan = std::numeric_limits<R>::quiet_NaN();
        std::fill(w, w + n, nan);
        std::fill(matrix, matrix + n * n, T(nan));
      }
      infos.as<int32_t>()[i] = static_cast<int32_t>(failed);
    });
  });
}

void eig(const View& a, const View& values, const View& vectors, const View& infos, bool with_vectors) {
  const int64_t n = rows_of(a);
  with_lapack_type(a.dtype, [&](auto tag) {
    using T = decltype(tag);
    using R = lapack::Real<T>;
    using C = std::complex<R>;
    Columns matrices = Columns::of(a), targets = Columns::of(with_vectors ? vectors : a);
    auto& lapack = lapack::routines<T>();
    const char job = with_vectors ? 'V' : 'N';
    const Int ld = std::max<Int>(n, 1);
    // Real matrices: values in two parts, and the vectors of a conjugate pair as real and imaginary columns.
    auto run = [&](T* matrix, C* w, R* real_part, R* imaginary, T* right, T* work, Int lwork, R* rwork) {
      if constexpr (is_complex_v<T>) {
        static_cast<void>(real_part), static_cast<void>(imaginary);
        return lapack.geev(kColumnMajor, 'N', job, n, matrix, ld, w, nullptr, 1, right, ld, work, lwork, rwork);
      } else {
        static_cast<void>(w), static_cast<void>(rwork);
        return lapack.geev(kColumnMajor, 'N', job, n, matrix, ld, real_part, imaginary, nullptr, 1, right, ld, work,
                           lwork);
      }
    };
    T answer(1);
    R unused(0);
    if (n) run(nullptr, nullptr, nullptr, nullptr, nullptr, &answer, -1, &unused);
    Int lwork = work_size(answer);
    Scratch measure(nullptr);
    measure.take<T>(lwork), measure.take<R>(2 * n), measure.take<T>(n * n);
    for_each_matrix(batch_of(a), 25 * cubed(n), measure.used(), [&](int64_t i, char* memory) {
      Scratch scratch(memory);
      T* work = scratch.take<T>(lwork);
      R* rwork = scratch.take<R>(2 * n);
      T* own = scratch.take<T>(n * n);
      C *w = values.as<C>() + i * n, *target = with_vectors ? targets.at<C>(i) : nullptr;
      T* right = own;
      if constexpr (is_complex_v<T>) right = target;
      Int failed = n ? run(matrices.at<T>(i), w, rwork, rwork + n, right, work, lwork, rwork) : 0;
      infos.as<int32_t>()[i] = static_cast<int32_t>(failed);
      if constexpr (!is_complex_v<T>) {
        for (int64_t j = 0; j < n; ++j) w[j] = C(rwork[j], rwork[n + j]);
        for (int64_t j = 0; with_vectors && j < n; ++j) {
          const T *x = right + j * n, *y = x + n;
          bool pair = rwork[n + j] != 0 && j + 1 < n;
          for (int64_t row = 0; row < n; ++row) {
            target[j * n + row] = C(x[row], pair ? y[row] : 0);
            if (pair) target[(j + 1) * n + row] = C(x[row], -y[row]);
          }
          j += pair;
        }
      }
    });
  });
}

// ---- The exponential

namespace {

template <class T>
const auto& gemm_routines() {
  const blas::Library& library = *blas::library();
  if constexpr (std::is_same_v<T, float>) return library.f32;
  if constexpr (std::is_same_v<T, double>) return library.f64;
  if constexpr (std::is_same_v<T, complex64>) return library.c64;
  if constexpr (std::is_same_v<T, complex128>) return library.c128;
}

/// exp of one n by n matrix in its place. The transposed memory layout does not matter: exp(A^T) = exp(A)^T.
template <class T>
class Exponential {
 public:
  using R = lapack::Real<T>;
  static int64_t scratch(int64_t n) {
    Scratch measure(nullptr);
    for (int i = 0; i < 7; ++i) measure.take<T>(n * n);
    measure.take<Int>(n);
    return measure.used();
  }

  Exponential(int64_t n, char* memory) : n_(n) {
    Scratch scratch(memory);
    for (T*& power : powers_) power = scratch.take<T>(n * n);
    odd_ = scratch.take<T>(n * n);
    even_ = scratch.take<T>(n * n);
    other_ = scratch.take<T>(n * n);
    pivots_ = scratch.take<Int>(n);
  }

  void run(T* a) {
    int64_t size = n_ * n_;
    double norm = one_norm(a);
    if (!std::isfinite(norm)) {
      std::fill(a, a + size, T(std::numeric_limits<R>::quiet_NaN()));
      return;
    }
    doubled_ = is_doubled(a);
    const Pade* chosen = &kPade[0];
    while (chosen != std::end(kPade) - 1 && norm > chosen->limit) ++chosen;
    int squarings = norm > chosen->limit ? static_cast<int>(std::ceil(std::log2(norm / chosen->limit))) : 0;
    if (squarings) {
      R scale = static_cast<R>(std::ldexp(1.0, -squarings));
      for (int64_t i = 0; i < size; ++i) a[i] *= scale;
    }
    approximate(a, *chosen);
    for (int i = 0; i < squarings; ++i) {
      multiply(a, a, other_);
      std::copy(other_, other_ + size, a);
    }
  }

 private:
  static constexpr const auto& kPade = []() -> const auto& {
    if constexpr (sizeof(R) == 4) {
      return kPadeFloat;
    } else {
      return kPadeDouble;
    }
  }();

  double one_norm(const T* a) const {
    double greatest = 0;
    for (int64_t j = 0; j < n_; ++j) {
      double sum = 0;
      for (int64_t i = 0; i < n_; ++i) sum += static_cast<double>(std::abs(a[j * n_ + i]));
      if (!(sum <= greatest)) greatest = sum;
      if (std::isnan(sum)) return sum;
    }
    return greatest;
  }

  /// Whether the matrix is [[X, 0], [Y, X]], the exponential of which has that of X and its derivative along Y.
  bool is_doubled(const T* a) const {
    const int64_t half = n_ / 2;
    if (n_ % 2 != 0 || n_ < 16) return false;
    for (int64_t j = 0; j < half; ++j) {
      const T *left = a + j * n_, *right = a + (half + j) * n_;
      const bool zero = std::all_of(right, right + half, [](T x) { return x == T(0); });
      if (!zero || !std::equal(left, left + half, right + half)) return false;
    }
    return true;
  }

  /// result = factor * x y + keep * result, for `size` by `size` blocks of n by n matrices.
  void multiply_blocks(int64_t size, R factor, const T* x, const T* y, R keep, T* result) const {
    T alpha(factor), beta(keep);
    if constexpr (is_complex_v<T>) {
      gemm_routines<T>().gemm(kColumnMajor, blas::kNoTrans, blas::kNoTrans, size, size, size, &alpha, x, n_, y, n_,
                              &beta, result, n_);
    } else {
      gemm_routines<T>().gemm(kColumnMajor, blas::kNoTrans, blas::kNoTrans, size, size, size, alpha, x, n_, y, n_, beta,
                              result, n_);
    }
  }

  void multiply(const T* x, const T* y, T* result) const {
    if (!doubled_) return multiply_blocks(n_, 1, x, y, 0, result);
    const int64_t half = n_ / 2;
    multiply_blocks(half, 1, x, y, 0, result);
    multiply_blocks(half, 1, x + half, y, 0, result + half);
    multiply_blocks(half, 1, x, y + half, 1, result + half);
    complete(result);
  }

  /// The right half of a doubled matrix from its left one.
  void complete(T* a) const {
    const int64_t half = n_ / 2;
    for (int64_t j = 0; j < half; ++j) {
      T* right = a + (half + j) * n_;
      std::fill(right, right + half, T(0));
      std::copy(a + j * n_, a + j * n_ + half, right + half);
    }
  }

  /// a = x^-1 a; x is overwritten.
  void solve(T* x, T* a) const {
    auto& lapack = lapack::routines<T>();
    const int64_t size = doubled_ ? n_ / 2 : n_;
    lapack.getrf(kColumnMajor, size, size, x, n_, pivots_);
    lapack.getrs(kColumnMajor, 'N', size, size, x, n_, pivots_, a, n_);
    if (!doubled_) return;
    multiply_blocks(size, -1, x + size, a, 1, a + size);
    lapack.getrs(kColumnMajor, 'N', size, size, x, n_, pivots_, a + size, n_);
    complete(a);
  }

  /// target = the sum of c[2 k] A^(2 k), for k from `from` to `to`.
  void combine(T* target, const double* c, int from, int to) const {
    int64_t size = n_ * n_;
    std::fill(target, target + size, T(0));
    for (int k = std::max(from, 1); k <= to; ++k) {
      const T* power = powers_[k - 1];
      R factor = static_cast<R>(c[2 * k]);
      for (int64_t i = 0; i < size; ++i) target[i] += factor * power[i];
    }
    if (from == 0)
      for (int64_t i = 0; i < n_; ++i) target[i * (n_ + 1)] += static_cast<R>(c[0]);
  }

  /// a = (V - U)^-1 (V + U), where U has the odd and V the even powers.
  void approximate(T* a, const Pade& pade) {
    int64_t size = n_ * n_;
    const double* c = pade.coefficients;
    int top = pade.degree == 13 ? 3 : pade.degree / 2;
    multiply(a, a, powers_[0]);
    for (int k = 1; k < top; ++k) multiply(powers_[0], powers_[k - 1], powers_[k]);
    if (pade.degree == 13) {
      // Powers beyond the sixth by one more product: A^6 (c13 A^6 + c11 A^4 + c9 A^2) for the odd part.
      combine(other_, c + 7, 1, 3);
      multiply(powers_[2], other_, odd_);
      combine(other_, c + 1, 0, 3);
      add(odd_, other_);
      std::swap(odd_, other_);
      multiply(a, other_, odd_);
      combine(other_, c + 6, 1, 3);
      multiply(powers_[2], other_, even_);
      combine(other_, c, 0, 3);
      add(even_, other_);
    } else {
      combine(other_, c + 1, 0, top);
      multiply(a, other_, odd_);
      combine(even_, c, 0, top);
    }
    for (int64_t i = 0; i < size; ++i) {
      a[i] = even_[i] + odd_[i];
      even_[i] -= odd_[i];
    }
    solve(even_, a);
  }

  void add(T* target, const T* other) const {
    for (int64_t i = 0; i < n_ * n_; ++i) target[i] += other[i];
  }

  int64_t n_;
  bool doubled_ = false;
  T* powers_[4];  ///< A^2, A^4, A^6, A^8
  T *odd_, *even_, *other_;
  Int* pivots_;
};

}  // namespace

void matrix_exp(const View& a) {
  const int64_t n = rows_of(a);
  if (n == 0) return;
  with_lapack_type(a.dtype, [&](auto tag) {
    using T = decltype(tag);
    lapack::routines<T>();  // says so where the library is missing
    for_each_matrix(batch_of(a), 20 * cubed(n), Exponential<T>::scratch(n),
                    [&](int64_t i, char* memory) { Exponential<T>(n, memory).run(a.as<T>() + i * n * n); });
  });
}

}  // namespace adjoint::cpu
