// A stand-in for cuSOLVER, and for cuBLAS's routines for many matrices, as csrc/cuda/cusolver.h declares them: computed
// when the driver's work is done. It takes only what they take: leading sizes, memory and the sizes of it are checked.
#include <cstdint>
#include <cstring>
#include <functional>

#include "dense.h"
#include "driver.h"

namespace {

using dense::Complex;
using dense::Matrix;
using dense::Square;
using Complex32 = std::complex<float>;

constexpr int kSuccess = 0, kNotInitialized = 1, kInvalidValue = 3;

struct Handle {
  bool has_stream = false;
};

int least(int rows) { return std::max(1, rows); }
/// What a routine asks for, so that too little of it is noticed.
int work_size(int m, int n) { return 3 * m * n + 7; }

/// Counts a call by its name, checks, and queues.
template <class Work>
int queue(const char* name, bool right, Work work) {
  if (const int code = standin::begin_call(name)) return code;
  if (!right) return kInvalidValue;
  standin::enqueue(std::move(work));
  return kSuccess;
}

template <class T>
Square widened(Matrix<const T> a, int64_t m, int64_t n) {
  Square wide;
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = 0; i < m; ++i) wide.push_back(Complex(a(i, j)));
  return wide;
}
template <class T>
T narrowed(Complex x) {
  if constexpr (dense::is_complex<T>) {
    return T(x);
  } else {
    return static_cast<T>(x.real());
  }
}

template <class T>
void eigh(int job, int uplo, int64_t n, Matrix<T> a, dense::Real<T>* values) {
  Square full = widened(Matrix<const T>{a.data, a.ld}, n, n);
  for (int64_t j = 0; j < n; ++j) {
    full[static_cast<size_t>(j + j * n)] = std::real(a(j, j));
    for (int64_t i = 0; i < j; ++i) {
      const Complex known = uplo ? Complex(a(i, j)) : std::conj(Complex(a(j, i)));
      full[static_cast<size_t>(i + j * n)] = known;
      full[static_cast<size_t>(j + i * n)] = std::conj(known);
    }
  }
  const auto found = dense::eigh(n, full);
  for (int64_t i = 0; i < n; ++i) values[i] = static_cast<dense::Real<T>>(found[static_cast<size_t>(i)]);
  for (int64_t j = 0; j < n; ++j)  // the matrix is spoiled where no vectors are wanted
    for (int64_t i = 0; i < n; ++i) a(i, j) = job ? narrowed<T>(full[static_cast<size_t>(i + j * n)]) : T(-77);
}

template <class T>
void svd(int job, int64_t m, int64_t n, Matrix<T> a, dense::Real<T>* s, Matrix<T> u, int64_t left, Matrix<T> v,
         int64_t right) {
  const auto found = dense::svd(m, n, widened(Matrix<const T>{a.data, a.ld}, m, n));
  for (int64_t i = 0; i < std::min(m, n); ++i) s[i] = static_cast<dense::Real<T>>(found.values[static_cast<size_t>(i)]);
  for (int64_t j = 0; j < n; ++j) std::fill_n(&a(0, j), m, T(-77));
  for (int64_t j = 0; job && j < left; ++j)
    for (int64_t i = 0; i < m; ++i) u(i, j) = narrowed<T>(found.u[static_cast<size_t>(i + j * m)]);
  for (int64_t j = 0; job && j < right; ++j)
    for (int64_t i = 0; i < n; ++i) v(i, j) = narrowed<T>(found.v[static_cast<size_t>(i + j * n)]);
}

/// Jacobi's method comes to no end where the first element is this.
constexpr double kEndless = 1234.5;
template <class T>
bool gives_up(Matrix<T> a, int64_t n, dense::Real<T>* s) {
  if (std::real(a(0, 0)) != static_cast<dense::Real<T>>(kEndless)) return false;
  for (int64_t i = 0; i < n; ++i) a(0, i) = T(s[0] = -77);
  return true;
}

/// T is the type of the matrix; pairs of values of a real one come one after the other, the positive one first.
template <class T>
void eig(int job, int64_t n, Matrix<T> a, std::complex<dense::Real<T>>* values, Matrix<T> right) {
  using C = std::complex<dense::Real<T>>;
  Square vectors = widened(Matrix<const T>{a.data, a.ld}, n, n);
  double scale = 0;
  for (const Complex& x : vectors) scale = std::max(scale, std::abs(x));
  const auto found = dense::eig(n, vectors);
  for (int64_t j = 0; j < n; ++j) std::fill_n(&a(0, j), n, T(-77));
  auto element = [&](int64_t i, int64_t j) { return vectors[static_cast<size_t>(i + j * n)]; };
  int64_t out = 0;
  for (int64_t j = 0; j < n; ++j) {
    const Complex value = found[static_cast<size_t>(j)];
    if constexpr (dense::is_complex<T>) {
      values[j] = C(value);
      for (int64_t i = 0; job && i < n; ++i) right(i, j) = C(element(i, j));
    } else {
      const bool real = std::abs(value.imag()) <= 1e-9 * scale;
      if (!real && value.imag() < 0) continue;
      values[out] = C(static_cast<T>(value.real()), real ? T(0) : static_cast<T>(value.imag()));
      if (!real) values[out + 1] = std::conj(values[out]);
      for (int64_t i = 0; job && i < n; ++i) {
        right(i, out) = static_cast<T>(element(i, j).real());
        if (!real) right(i, out + 1) = static_cast<T>(element(i, j).imag());
      }
      out += real ? 1 : 2;
    }
  }
}

/// run(T()) for the type of NVIDIA's number.
template <class Run>
int with_type(int type, Run run) {
  switch (type) {
    case 0: return run(float());
    case 1: return run(double());
    case 4: return run(Complex32());
    case 5: return run(Complex());
    default: return kInvalidValue;
  }
}

}  // namespace

extern "C" {

int cusolverDnCreate(Handle** handle) {
  if (const int code = standin::begin_call("cusolverDnCreate")) return code;
  *handle = new Handle;
  return kSuccess;
}
int cusolverDnSetStream(Handle* handle, void*) {
  handle->has_stream = true;
  return kSuccess;
}
int cusolverDnCreateSyevjInfo(void** options) {
  *options = new int;
  return kSuccess;
}
int cusolverDnCreateGesvdjInfo(void** options) { return cusolverDnCreateSyevjInfo(options); }
int cusolverDnCreateParams(void** options) { return cusolverDnCreateSyevjInfo(options); }

#define READY() \
  if (!handle || !handle->has_stream) return kNotInitialized

/// For one type: its letter, its name, the type of sizes, and what routines are called that differ.
#define FOR_TYPE(L, T, R, ORG, ORM, SYEVD, SYEVJ)                                                                      \
  int cusolverDn##L##potrf_bufferSize(Handle*, int, int n, T*, int, int* work) {                                       \
    *work = work_size(n, n);                                                                                           \
    return kSuccess;                                                                                                   \
  }                                                                                                                    \
  int cusolverDn##L##potrf(Handle* handle, int uplo, int n, T* a, int ld, T* work, int size, int* info) {              \
    READY();                                                                                                           \
    return queue("potrf", ld >= least(n) && work && size >= work_size(n, n),                                           \
                 [=] { *info = dense::potrf(uplo == 1, n, Matrix<T>{a, ld}); });                                       \
  }                                                                                                                    \
  int cusolverDn##L##potrfBatched(Handle* handle, int uplo, int n, T** a, int ld, int* infos, int count) {             \
    READY();                                                                                                           \
    return queue("potrfBatched", ld >= least(n), [=] {                                                                 \
      for (int i = 0; i < count; ++i) infos[i] = dense::potrf(uplo == 1, n, Matrix<T>{a[i], ld});                      \
    });                                                                                                                \
  }                                                                                                                    \
  int cusolverDn##L##getrf_bufferSize(Handle*, int m, int n, T*, int, int* work) {                                     \
    *work = work_size(m, n);                                                                                           \
    return kSuccess;                                                                                                   \
  }                                                                                                                    \
  int cusolverDn##L##getrf(Handle* handle, int m, int n, T* a, int ld, T* work, int* pivots, int* info) {              \
    READY();                                                                                                           \
    return queue("getrf", ld >= least(m) && work, [=] { *info = dense::getrf(m, n, Matrix<T>{a, ld}, pivots); });      \
  }                                                                                                                    \
  int cusolverDn##L##getrs(Handle* handle, int op, int n, int sides, const T* a, int ld, const int* pivots, T* b,      \
                           int ldb, int* info) {                                                                       \
    READY();                                                                                                           \
    return queue("getrs", ld >= least(n) && ldb >= least(n), [=] {                                                     \
      *info = 0;                                                                                                       \
      dense::getrs(op, n, sides, Matrix<const T>{a, ld}, pivots, Matrix<T>{b, ldb});                                   \
    });                                                                                                                \
  }                                                                                                                    \
  int cusolverDn##L##sytrf_bufferSize(Handle*, int n, T*, int, int* work) {                                            \
    *work = work_size(n, n);                                                                                           \
    return kSuccess;                                                                                                   \
  }                                                                                                                    \
  int cusolverDn##L##sytrf(Handle* handle, int uplo, int n, T* a, int ld, int* pivots, T* work, int size, int* info) { \
    READY();                                                                                                           \
    return queue("sytrf", uplo == 0 && ld >= least(n) && work && size >= work_size(n, n),                              \
                 [=] { *info = dense::sytrf(n, Matrix<T>{a, ld}, pivots); });                                          \
  }                                                                                                                    \
  int cusolverDn##L##geqrf_bufferSize(Handle*, int m, int n, T*, int, int* work) {                                     \
    *work = work_size(m, n);                                                                                           \
    return kSuccess;                                                                                                   \
  }                                                                                                                    \
  int cusolverDn##L##geqrf(Handle* handle, int m, int n, T* a, int ld, T* tau, T* work, int size, int* info) {         \
    READY();                                                                                                           \
    return queue("geqrf", ld >= least(m) && work && size >= work_size(m, n), [=] {                                     \
      *info = 0;                                                                                                       \
      dense::geqrf(m, n, Matrix<T>{a, ld}, tau);                                                                       \
    });                                                                                                                \
  }                                                                                                                    \
  int cusolverDn##L##ORG##_bufferSize(Handle*, int m, int n, int, const T*, int, const T*, int* work) {                \
    *work = work_size(m, n);                                                                                           \
    return kSuccess;                                                                                                   \
  }                                                                                                                    \
  int cusolverDn##L##ORG(Handle* handle, int m, int n, int k, T* a, int ld, const T* tau, T* work, int size,           \
                         int* info) {                                                                                  \
    READY();                                                                                                           \
    return queue("orgqr", m >= n && n >= k && ld >= least(m) && work && size >= work_size(m, n), [=] {                 \
      *info = 0;                                                                                                       \
      dense::orgqr(m, n, k, Matrix<T>{a, ld}, tau);                                                                    \
    });                                                                                                                \
  }                                                                                                                    \
  int cusolverDn##L##ORM##_bufferSize(Handle*, int, int, int m, int n, int, const T*, int, const T*, const T*, int,    \
                                      int* work) {                                                                     \
    *work = work_size(m, n);                                                                                           \
    return kSuccess;                                                                                                   \
  }                                                                                                                    \
  int cusolverDn##L##ORM(Handle* handle, int side, int op, int m, int n, int k, const T* a, int ld, const T* tau,      \
                         T* c, int ldc, T* work, int size, int* info) {                                                \
    READY();                                                                                                           \
    const bool right = op == 0 || op == (dense::is_complex<T> ? 2 : 1);                                                \
    const int order = side ? n : m;                                                                                    \
    return queue("ormqr",                                                                                              \
                 right && k <= order && ld >= least(order) && ldc >= least(m) && work && size >= work_size(m, n),      \
                 [=] {                                                                                                 \
                   *info = 0;                                                                                          \
                   dense::ormqr(side == 0, op != 0, m, n, k, Matrix<const T>{a, ld}, tau, Matrix<T>{c, ldc});          \
                 });                                                                                                   \
  }                                                                                                                    \
  int cusolverDn##L##SYEVD##_bufferSize(Handle*, int, int, int n, const T*, int, const R*, int* work) {                \
    *work = work_size(n, n);                                                                                           \
    return kSuccess;                                                                                                   \
  }                                                                                                                    \
  int cusolverDn##L##SYEVD(Handle* handle, int job, int uplo, int n, T* a, int ld, R* values, T* work, int size,       \
                           int* info) {                                                                                \
    READY();                                                                                                           \
    return queue("syevd", ld >= least(n) && work && size >= work_size(n, n), [=] {                                     \
      *info = 0;                                                                                                       \
      eigh(job, uplo, n, Matrix<T>{a, ld}, values);                                                                    \
    });                                                                                                                \
  }                                                                                                                    \
  int cusolverDn##L##SYEVJ##_bufferSize(Handle*, int, int, int n, const T*, int, const R*, int* work, void*,           \
                                        int count) {                                                                   \
    *work = work_size(n, n) * count;                                                                                   \
    return kSuccess;                                                                                                   \
  }                                                                                                                    \
  int cusolverDn##L##SYEVJ(Handle* handle, int job, int uplo, int n, T* a, int ld, R* values, T* work, int size,       \
                           int* infos, void* options, int count) {                                                     \
    READY();                                                                                                           \
    return queue("syevjBatched", options && ld >= least(n) && work && size >= work_size(n, n) * count, [=] {           \
      for (int64_t i = 0; i < count; ++i) {                                                                            \
        infos[i] = 0;                                                                                                  \
        eigh(job, uplo, n, Matrix<T>{a + i * ld * n, ld}, values + i * n);                                             \
      }                                                                                                                \
    });                                                                                                                \
  }                                                                                                                    \
  int cusolverDn##L##gesvd_bufferSize(Handle*, int m, int n, int* work) {                                              \
    *work = work_size(m, n);                                                                                           \
    return kSuccess;                                                                                                   \
  }                                                                                                                    \
  int cusolverDn##L##gesvd(Handle* handle, signed char left, signed char right, int m, int n, T* a, int ld, R* s,      \
                           T* u, int ldu, T* vt, int ldv, T* work, int size, R* rest, int* info) {                     \
    READY();                                                                                                           \
    const bool fits = m >= n && ld >= least(m) && ldu >= least(m) && ldv >= least(n) && left == right && rest;         \
    return queue("gesvd", fits && work && size >= work_size(m, n), [=] {                                               \
      *info = 0;                                                                                                       \
      std::vector<T> v(static_cast<size_t>(n * n));                                                                    \
      svd(left != 'N', m, n, Matrix<T>{a, ld}, s, Matrix<T>{u, ldu}, left == 'A' ? m : n, Matrix<T>{v.data(), n}, n);  \
      for (int64_t i = 0; left != 'N' && i < n; ++i)                                                                   \
        for (int64_t j = 0; j < n; ++j) vt[i + j * ldv] = dense::conjugated(v[static_cast<size_t>(j + i * n)]);        \
    });                                                                                                                \
  }                                                                                                                    \
  int cusolverDn##L##gesvdj_bufferSize(Handle*, int, int, int m, int n, const T*, int, const R*, const T*, int,        \
                                       const T*, int, int* work, void*) {                                              \
    *work = work_size(m, n);                                                                                           \
    return kSuccess;                                                                                                   \
  }                                                                                                                    \
  int cusolverDn##L##gesvdj(Handle* handle, int job, int econ, int m, int n, T* a, int ld, R* s, T* u, int ldu, T* v,  \
                            int ldv, T* work, int size, int* info, void* options) {                                    \
    READY();                                                                                                           \
    const bool places = ldu >= least(m) && ldv >= least(n) && (!job || (u && v));                                      \
    return queue("gesvdj", options && places && ld >= least(m) && work && size >= work_size(m, n), [=] {               \
      const int k = std::min(m, n);                                                                                    \
      *info = gives_up(Matrix<T>{a, ld}, n, s) ? k + 1 : 0;                                                            \
      if (*info) return;                                                                                               \
      svd(job, m, n, Matrix<T>{a, ld}, s, Matrix<T>{u, ldu}, econ ? k : m, Matrix<T>{v, ldv}, econ ? k : n);           \
    });                                                                                                                \
  }                                                                                                                    \
  int cusolverDn##L##gesvdjBatched_bufferSize(Handle*, int, int m, int n, const T*, int, const R*, const T*, int,      \
                                              const T*, int, int* work, void*, int count) {                            \
    *work = work_size(m, n) * count;                                                                                   \
    return kSuccess;                                                                                                   \
  }                                                                                                                    \
  int cusolverDn##L##gesvdjBatched(Handle* handle, int job, int m, int n, T* a, int ld, R* s, T* u, int ldu, T* v,     \
                                   int ldv, T* work, int size, int* infos, void* options, int count) {                 \
    READY();                                                                                                           \
    const bool right = options && m <= 32 && n <= 32 && ld >= least(m) && ldu >= least(m) && ldv >= least(n);          \
    return queue("gesvdjBatched", right && work && size >= work_size(m, n) * count, [=] {                              \
      for (int64_t i = 0; i < count; ++i) {                                                                            \
        infos[i] = gives_up(Matrix<T>{a + i * ld * n, ld}, n, s + i * std::min(m, n)) ? std::min(m, n) + 1 : 0;        \
        if (infos[i]) continue;                                                                                        \
        svd(job, m, n, Matrix<T>{a + i * ld * n, ld}, s + i * std::min(m, n), Matrix<T>{u + i * ldu * m, ldu}, m,      \
            Matrix<T>{v + i * ldv * n, ldv}, n);                                                                       \
      }                                                                                                                \
    });                                                                                                                \
  }                                                                                                                    \
  int cublas##L##getrfBatched(void* handle, int n, T* const* a, int ld, int* pivots, int* infos, int count) {          \
    return queue("getrfBatched", handle && ld >= least(n), [=] {                                                       \
      for (int64_t i = 0; i < count; ++i) infos[i] = dense::getrf(n, n, Matrix<T>{a[i], ld}, pivots + i * n);          \
    });                                                                                                                \
  }                                                                                                                    \
  int cublas##L##getrsBatched(void* handle, int op, int n, int sides, const T* const* a, int ld, const int* pivots,    \
                              T* const* b, int ldb, int* info, int count) {                                            \
    *info = 0;                                                                                                         \
    return queue("getrsBatched", handle && ld >= least(n) && ldb >= least(n), [=] {                                    \
      for (int64_t i = 0; i < count; ++i)                                                                              \
        dense::getrs(op, n, sides, Matrix<const T>{a[i], ld}, pivots + i * n, Matrix<T>{b[i], ldb});                   \
    });                                                                                                                \
  }                                                                                                                    \
  int cublas##L##geqrfBatched(void* handle, int m, int n, T* const* a, int ld, T* const* tau, int* info, int count) {  \
    *info = 0;                                                                                                         \
    return queue("geqrfBatched", handle && ld >= least(m), [=] {                                                       \
      for (int64_t i = 0; i < count; ++i) dense::geqrf(m, n, Matrix<T>{a[i], ld}, tau[i]);                             \
    });                                                                                                                \
  }                                                                                                                    \
  int cublas##L##trsm_v2(void* handle, int side, int uplo, int op, int diag, int m, int n, const T* alpha, const T* a, \
                         int ld, T* b, int ldb) {                                                                      \
    const T factor = *alpha;                                                                                           \
    return queue("trsm", handle && ld >= least(side ? n : m) && ldb >= least(m), [=] {                                 \
      dense::trsm(side == 0, uplo == 1, op, diag == 1, m, n, factor, Matrix<const T>{a, ld}, Matrix<T>{b, ldb});       \
    });                                                                                                                \
  }                                                                                                                    \
  int cublas##L##trsmBatched(void* handle, int side, int uplo, int op, int diag, int m, int n, const T* alpha,         \
                             const T* const* a, int ld, T* const* b, int ldb, int count) {                             \
    const T factor = *alpha;                                                                                           \
    return queue("trsmBatched", handle && ld >= least(side ? n : m) && ldb >= least(m), [=] {                          \
      for (int64_t i = 0; i < count; ++i)                                                                              \
        dense::trsm(side == 0, uplo == 1, op, diag == 1, m, n, factor, Matrix<const T>{a[i], ld},                      \
                    Matrix<T>{b[i], ldb});                                                                             \
    });                                                                                                                \
  }

FOR_TYPE(S, float, float, orgqr, ormqr, syevd, syevjBatched)
FOR_TYPE(D, double, double, orgqr, ormqr, syevd, syevjBatched)
FOR_TYPE(C, Complex32, float, ungqr, unmqr, heevd, heevjBatched)
FOR_TYPE(Z, Complex, double, ungqr, unmqr, heevd, heevjBatched)

int cusolverDnXsytrs_bufferSize(Handle*, int, int64_t, int64_t, int, const void*, int64_t, const int64_t*, int, void*,
                                int64_t, size_t* there, size_t* here) {
  *there = 512;
  *here = 64;
  return kSuccess;
}
int cusolverDnXsytrs(Handle* handle, int uplo, int64_t n, int64_t sides, int type, const void* a, int64_t ld,
                     const int64_t* pivots, int b_type, void* b, int64_t ldb, void* work, size_t size, void* host,
                     size_t host_size, int* info) {
  READY();
  const bool right = uplo == 0 && type == b_type && ld >= std::max<int64_t>(1, n) && ldb >= std::max<int64_t>(1, n) &&
                     work && size >= 512 && host && host_size >= 64;
  return with_type(type, [=]<class T>(T) {
    return queue("Xsytrs", right, [=] {
      *info = 0;
      dense::sytrs(n, sides, Matrix<const T>{static_cast<const T*>(a), ld}, pivots, Matrix<T>{static_cast<T*>(b), ldb});
    });
  });
}

int cusolverDnXgeev_bufferSize(Handle*, void*, int, int, int64_t, int, const void*, int64_t, int, const void*, int,
                               const void*, int64_t, int, const void*, int64_t, int, size_t* there, size_t* here) {
  *there = 512;
  *here = 64;
  return kSuccess;
}
int cusolverDnXgeev(Handle* handle, void* options, int left, int job, int64_t n, int type, void* a, int64_t ld,
                    int value_type, void* values, int left_type, void*, int64_t left_ld, int right_type, void* right,
                    int64_t right_ld, int compute, void* work, size_t size, void* host, size_t host_size, int* info) {
  READY();
  const int64_t needed = std::max<int64_t>(1, n);
  const bool fits = left == 0 && ld >= needed && right_ld >= needed && left_ld >= 1 && (!job || right) && work &&
                    size >= 512 && host && host_size >= 64 && options;
  const bool types =
      left_type == type && right_type == type && compute == type && value_type == (type == 0 || type == 4 ? 4 : 5);
  return with_type(type, [=]<class T>(T) {
    return queue("Xgeev", fits && types, [=] {
      *info = 0;
      eig(job, n, Matrix<T>{static_cast<T*>(a), ld}, static_cast<std::complex<dense::Real<T>>*>(values),
          Matrix<T>{static_cast<T*>(right), right_ld});
    });
  });
}

}  // extern "C"
