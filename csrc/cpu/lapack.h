// LAPACK from the OpenBLAS library that cpu/blas.h loads: its "work" interface, column-major.
#pragma once

#include "cpu/blas.h"

namespace adjoint::lapack {

using blas::Int;
inline constexpr int kColumnMajor = 102;

template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
  using type = T;
};
template <class T>
using Real = typename RealOf<T>::type;

/// The routines that complex matrices call with real scratch memory, and those whose results differ.
template <class T>
struct SpectralRoutines {
  Int (*gesdd)(int, char job, Int m, Int n, T* a, Int lda, T* s, T* u, Int ldu, T* vt, Int ldvt, T* work, Int lwork,
               Int* iwork);
  Int (*syevd)(int, char job, char uplo, Int n, T* a, Int lda, T* w, T* work, Int lwork, Int* iwork, Int liwork);
  Int (*geev)(int, char left, char right, Int n, T* a, Int lda, T* real, T* imaginary, T* vl, Int ldvl, T* vr, Int ldvr,
              T* work, Int lwork);
  Int (*gelsy)(int, Int m, Int n, Int nrhs, T* a, Int lda, T* b, Int ldb, Int* jpvt, T rcond, Int* rank, T* work,
               Int lwork);
  Int (*gelsd)(int, Int m, Int n, Int nrhs, T* a, Int lda, T* b, Int ldb, T* s, T rcond, Int* rank, T* work, Int lwork,
               Int* iwork);
  Int (*gelss)(int, Int m, Int n, Int nrhs, T* a, Int lda, T* b, Int ldb, T* s, T rcond, Int* rank, T* work, Int lwork);
};
template <class R>
struct SpectralRoutines<std::complex<R>> {
  using T = std::complex<R>;
  Int (*gesdd)(int, char job, Int m, Int n, T* a, Int lda, R* s, T* u, Int ldu, T* vt, Int ldvt, T* work, Int lwork,
               R* rwork, Int* iwork);
  Int (*syevd)(int, char job, char uplo, Int n, T* a, Int lda, R* w, T* work, Int lwork, R* rwork, Int lrwork,
               Int* iwork, Int liwork);
  Int (*geev)(int, char left, char right, Int n, T* a, Int lda, T* w, T* vl, Int ldvl, T* vr, Int ldvr, T* work,
              Int lwork, R* rwork);
  Int (*gelsy)(int, Int m, Int n, Int nrhs, T* a, Int lda, T* b, Int ldb, Int* jpvt, R rcond, Int* rank, T* work,
               Int lwork, R* rwork);
  Int (*gelsd)(int, Int m, Int n, Int nrhs, T* a, Int lda, T* b, Int ldb, R* s, R rcond, Int* rank, T* work, Int lwork,
               R* rwork, Int* iwork);
  Int (*gelss)(int, Int m, Int n, Int nrhs, T* a, Int lda, T* b, Int ldb, R* s, R rcond, Int* rank, T* work, Int lwork,
               R* rwork);
};

/// Names are those of real matrices: orgqr is ungqr for complex ones, and so on. The first argument of each is the
/// layout, kColumnMajor; results are LAPACK's info.
template <class T>
struct Routines : SpectralRoutines<T> {
  Int (*potrf)(int, char uplo, Int n, T* a, Int lda);
  Int (*potri)(int, char uplo, Int n, T* a, Int lda);
  Int (*potrs)(int, char uplo, Int n, Int nrhs, const T* a, Int lda, T* b, Int ldb);
  Int (*getrf)(int, Int m, Int n, T* a, Int lda, Int* ipiv);
  Int (*getri)(int, Int n, T* a, Int lda, const Int* ipiv, T* work, Int lwork);
  Int (*getrs)(int, char trans, Int n, Int nrhs, const T* a, Int lda, const Int* ipiv, T* b, Int ldb);
  Int (*geqrf)(int, Int m, Int n, T* a, Int lda, T* tau, T* work, Int lwork);
  Int (*orgqr)(int, Int m, Int n, Int k, T* a, Int lda, const T* tau, T* work, Int lwork);
  Int (*ormqr)(int, char side, char trans, Int m, Int n, Int k, const T* a, Int lda, const T* tau, T* c, Int ldc,
               T* work, Int lwork);
  Int (*gels)(int, char trans, Int m, Int n, Int nrhs, T* a, Int lda, T* b, Int ldb, T* work, Int lwork);
  Int (*sytrf)(int, char uplo, Int n, T* a, Int lda, Int* ipiv, T* work, Int lwork);
  Int (*sytrs)(int, char uplo, Int n, Int nrhs, const T* a, Int lda, const Int* ipiv, T* b, Int ldb);
  Int (*hetrf)(int, char uplo, Int n, T* a, Int lda, Int* ipiv, T* work, Int lwork);  ///< complex only
  Int (*hetrs)(int, char uplo, Int n, Int nrhs, const T* a, Int lda, const Int* ipiv, T* b, Int ldb);

  /// b = op(a)^-1 b, or b op(a)^-1 from the right; a is triangular. CBLAS's enumerations.
  using Factor = std::conditional_t<is_complex_v<T>, const T*, T>;
  void (*trsm)(int order, int side, int uplo, int trans, int diag, Int m, Int n, Factor alpha, const T* a, Int lda,
               T* b, Int ldb);
};

inline constexpr int kLeft = 141, kRight = 142, kUpper = 121, kLower = 122, kNonUnit = 131, kUnit = 132;

/// For T = float, double, complex64, complex128. Throws when the library or a routine is missing.
template <class T>
const Routines<T>& routines();

}  // namespace adjoint::lapack
