// Singular values, eigenvalues, and the exponential of matrices.
#include <cmath>
#include <limits>

#include "ops/linalg.h"
#include "ops/linalg_batch.h"
#include "ops/memory.h"

namespace adjoint::ops {
namespace {

TensorPtr nothing(DType dtype) { return empty(std::vector<int64_t>{0}, dtype); }

template <class T>
bool all_finite(const T* values, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    if (!std::isfinite(std::real(values[i])) || !std::isfinite(std::imag(values[i]))) return false;
  return true;
}

void check_converged(const char* op, const Tensor* infos, const char* what) {
  int64_t place = first_failure(infos);
  if (place < 0) return;
  int32_t code = infos->as<int32_t>()[place];
  std::string start =
      std::string(op) + ": " + batch_element(infos, place) + "The algorithm failed to converge because ";
  if (code < 0) fail_linalg(start + "the input matrix contained non-finite values.");
  fail_linalg(start + "the input matrix is ill-conditioned or has too many repeated " + what +
              " (error code: " + std::to_string(code) + ").");
}

}  // namespace

// ---- Singular values

TensorTriple linalg_svd(Tensor* A, bool full_matrices, bool compute_uv) {
  const char* op = "linalg.svd";
  check_matrix_dims(op, A);
  check_float(op, A);
  int64_t m = rows_of(A), n = cols_of(A), k = std::min(m, n);
  Sizes batch = batch_sizes(A);
  int64_t count = product(batch), u_cols = full_matrices ? m : k, v_rows = full_matrices ? n : k;
  TensorPtr U, S, Vh, infos = batch_numbers(batch, DType::Int32);
  with_lapack_type("linalg_svd_cpu", A->dtype, [&](auto tag) {
    using T = decltype(tag);
    using R = lapack::Real<T>;
    TensorPtr work_matrices = column_major_copy(A);
    U = compute_uv ? column_major(batch, m, u_cols, A->dtype) : nothing(A->dtype);
    Vh = compute_uv ? column_major(batch, v_rows, n, A->dtype) : nothing(A->dtype);
    S = batch_vectors(batch, k, real_type(A->dtype));
    // Without vectors, the places for them are not touched.
    Columns a = Columns::of(work_matrices), u = Columns::of(compute_uv ? U : work_matrices);
    Columns v = Columns::of(compute_uv ? Vh : work_matrices);
    if (k == 0) {
      std::fill(infos->as<int32_t>(), infos->as<int32_t>() + count, 0);
      for (int64_t i = 0; compute_uv && i < count; ++i) {
        fill_identity(u.at<T>(i), m, u_cols, u.ld());
        fill_identity(v.at<T>(i), v_rows, n, v.ld());
      }
      return;
    }
    auto& lapack = lapack::routines<T>();
    char job = !compute_uv ? 'N' : full_matrices ? 'A' : 'S';
    auto run = [&](int64_t i, R* s, T* work, Int lwork, [[maybe_unused]] R* rwork, Int* iwork) {
      T *left = compute_uv ? u.at<T>(i) : nullptr, *right = compute_uv ? v.at<T>(i) : nullptr;
      Int ldu = compute_uv ? u.ld() : 1, ldv = compute_uv ? v.ld() : 1;
      if constexpr (is_complex_v<T>) {
        return lapack.gesdd(kColumnMajor, job, m, n, a.at<T>(i), a.ld(), s, left, ldu, right, ldv, work, lwork, rwork,
                            iwork);
      } else {
        return lapack.gesdd(kColumnMajor, job, m, n, a.at<T>(i), a.ld(), s, left, ldu, right, ldv, work, lwork, iwork);
      }
    };
    T answer(1);
    R unused(0);
    Int unused_integer = 0;
    if (count) run(0, S->as<R>(), &answer, -1, &unused, &unused_integer);
    Int lwork = work_size(answer), larger = std::max(m, n);
    Int lrwork = !is_complex_v<T> ? 1
                 : compute_uv     ? std::max(5 * k * k + 5 * k, 2 * larger * k + 2 * k * k + k)
                                  : 7 * k;
    Scratch measure(nullptr);
    measure.take<T>(lwork), measure.take<R>(lrwork), measure.take<Int>(8 * k);
    double flops = (compute_uv ? 20.0 : 4.0) * static_cast<double>(larger) * static_cast<double>(k * k);
    for_each_matrix(count, flops, measure.used(), [&](int64_t i, char* memory) {
      Scratch scratch(memory);
      T* work = scratch.take<T>(lwork);
      R* rwork = scratch.take<R>(lrwork);
      Int* iwork = scratch.take<Int>(8 * k);
      bool finite = all_finite(a.at<T>(i), m * n);
      infos->as<int32_t>()[i] =
          finite ? static_cast<int32_t>(run(i, S->as<R>() + i * k, work, lwork, rwork, iwork)) : -4;
    });
  });
  check_converged(op, infos.get(), "singular values");
  return {std::move(U), std::move(S), std::move(Vh)};
}

// ---- Eigenvalues

TensorPair linalg_eigh(Tensor* A, const std::string& UPLO, bool compute_v) {
  const char* op = "linalg.eigh";
  check_square(op, A);
  char uplo = UPLO.empty() ? ' ' : static_cast<char>(std::toupper(static_cast<unsigned char>(UPLO[0])));
  if (UPLO.size() != 1 || (uplo != 'L' && uplo != 'U')) fail("Expected UPLO argument to be 'L' or 'U', but got ", UPLO);
  int64_t n = rows_of(A);
  Sizes batch = batch_sizes(A);
  TensorPtr values, vectors, infos = batch_numbers(batch, DType::Int32);
  with_lapack_type("linalg_eigh_cpu", A->dtype, [&](auto tag) {
    using T = decltype(tag);
    using R = lapack::Real<T>;
    values = batch_vectors(batch, n, real_type(A->dtype));
    vectors = column_major_copy(A);
    auto& lapack = lapack::routines<T>();
    Columns v = Columns::of(vectors);
    char job = compute_v ? 'V' : 'N';
    auto run = [&](T* a, R* w, T* work, Int lwork, [[maybe_unused]] R* rwork, [[maybe_unused]] Int lrwork, Int* iwork,
                   Int liwork) {
      if constexpr (is_complex_v<T>) {
        return lapack.syevd(kColumnMajor, job, uplo, n, a, v.ld(), w, work, lwork, rwork, lrwork, iwork, liwork);
      } else {
        return lapack.syevd(kColumnMajor, job, uplo, n, a, v.ld(), w, work, lwork, iwork, liwork);
      }
    };
    T answer(1);
    R real_answer(1);
    Int liwork = 1;
    if (n) run(nullptr, nullptr, &answer, -1, &real_answer, -1, &liwork, -1);
    Int lwork = work_size(answer), lrwork = work_size(real_answer);
    Scratch measure(nullptr);
    measure.take<T>(lwork), measure.take<R>(lrwork), measure.take<Int>(liwork);
    for_each_matrix(infos->numel(), (compute_v ? 9.0 : 4.0 / 3) * cubed(n), measure.used(),
                    [&](int64_t i, char* memory) {
                      Scratch scratch(memory);
                      T* work = scratch.take<T>(lwork);
                      R* rwork = scratch.take<R>(lrwork);
                      Int* iwork = scratch.take<Int>(liwork);
                      T* a = v.at<T>(i);
                      R* w = values->as<R>() + i * n;
                      Int failed = 0;
                      if (all_finite(a, n * n)) {
                        if (n) failed = run(a, w, work, lwork, rwork, lrwork, iwork, liwork);
                      } else {
                        // As torch has it: nan in, nan out. LAPACK may not come back.
                        constexpr R nan = std::numeric_limits<R>::quiet_NaN();
                        std::fill(w, w + n, nan);
                        std::fill(a, a + n * n, T(nan));
                      }
                      infos->as<int32_t>()[i] = static_cast<int32_t>(failed);
                    });
  });
  check_converged(op, infos.get(), "eigenvalues");
  if (!compute_v) vectors = nothing(A->dtype);
  return {std::move(values), std::move(vectors)};
}

TensorPair linalg_eig(Tensor* A, bool compute_v) {
  const char* op = "linalg.eig";
  check_square(op, A);
  if (!is_differentiable(A->dtype)) fail("Unknown Complex ScalarType for ", info(A->dtype).legacy_name);
  int64_t n = rows_of(A);
  Sizes batch = batch_sizes(A);
  DType complex = complex_type(A->dtype);
  TensorPtr values, vectors, infos = batch_numbers(batch, DType::Int32);
  with_lapack_type("linalg_eig_out_cpu", A->dtype, [&](auto tag) {
    using T = decltype(tag);
    using R = lapack::Real<T>;
    using C = std::complex<R>;
    TensorPtr work_matrices = column_major_copy(A);
    Columns a = Columns::of(work_matrices);
    if (!all_finite(work_matrices->as<T>(), work_matrices->numel()))
      fail("torch.linalg.eig: input tensor should not contain infs or NaNs.");
    values = batch_vectors(batch, n, complex);
    vectors = compute_v ? column_major(batch, n, n, complex) : nothing(complex);
    Columns v = compute_v ? Columns::of(vectors) : a;
    auto& lapack = lapack::routines<T>();
    char job = compute_v ? 'V' : 'N';
    Int ld = std::max<Int>(n, 1);
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
    for_each_matrix(infos->numel(), 25 * cubed(n), measure.used(), [&](int64_t i, char* memory) {
      Scratch scratch(memory);
      T* work = scratch.take<T>(lwork);
      R* rwork = scratch.take<R>(2 * n);
      T* own = scratch.take<T>(n * n);
      C *w = values->as<C>() + i * n, *target = compute_v ? v.at<C>(i) : nullptr;
      T* right = own;
      if constexpr (is_complex_v<T>) right = target;
      Int failed = n ? run(a.at<T>(i), w, rwork, rwork + n, right, work, lwork, rwork) : 0;
      infos->as<int32_t>()[i] = static_cast<int32_t>(failed);
      if constexpr (!is_complex_v<T>) {
        for (int64_t j = 0; j < n; ++j) w[j] = C(rwork[j], rwork[n + j]);
        for (int64_t j = 0; compute_v && j < n; ++j) {
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
  check_converged(op, infos.get(), "eigenvalues");
  return {std::move(values), std::move(vectors)};
}

// ---- The exponential

namespace {

/// Coefficients of the diagonal Padé approximants of exp, and the norms up to which they are exact to rounding
/// (Higham, The scaling and squaring method for the matrix exponential revisited, 2005).
struct Pade {
  int degree;
  double limit;
  double coefficients[14];
};
constexpr Pade kPadeDouble[] = {
    {3, 1.495585217958292e-2, {120, 60, 12, 1}},
    {5, 2.539398330063230e-1, {30240, 15120, 3360, 420, 30, 1}},
    {7, 9.504178996162932e-1, {17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1}},
    {9, 2.097847961257068, {17643225600, 8821612800, 2075673600, 302702400, 30270240, 2162160, 110880, 3960, 90, 1}},
    {13,
     5.371920351148152,
     {64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
      670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1}}};
constexpr Pade kPadeFloat[] = {{3, 4.258730016922831e-1, {120, 60, 12, 1}},
                               {5, 1.880152677804762, {30240, 15120, 3360, 420, 30, 1}},
                               {7, 3.925724783138660, {17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1}}};

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

TensorPtr matrix_exp(Tensor* A) {
  const char* op = "linalg.matrix_exp";
  check_square(op, A);
  check_float(op, A);
  bool half = A->dtype == DType::Float16 || A->dtype == DType::BFloat16;
  TensorPtr wide = half ? cast(A, DType::Float32) : TensorPtr::borrow(A);
  int64_t n = rows_of(A);
  TensorPtr result = empty(A->sizes(), wide->dtype);
  cpu::copy(wide->view(), result->view());
  with_lapack_type("matrix_exp", wide->dtype, [&](auto tag) {
    using T = decltype(tag);
    lapack::routines<T>();
    if (n == 0) return;
    for_each_matrix(product(batch_sizes(A)), 20 * cubed(n), Exponential<T>::scratch(n),
                    [&](int64_t i, char* memory) { Exponential<T>(n, memory).run(result->as<T>() + i * n * n); });
  });
  return half ? cast(result.get(), A->dtype) : result;
}

}  // namespace adjoint::ops
