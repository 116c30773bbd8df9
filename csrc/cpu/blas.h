// OpenBLAS, loaded at run time: the package runs without it, only slower.
#pragma once

#include <cstdint>

#include "core/dtype.h"

namespace adjoint::blas {

using Int = int64_t;

/// The values of CBLAS's enumerations that are used here.
inline constexpr int kRowMajor = 101;
inline constexpr int kNoTrans = 111;
inline constexpr int kTrans = 112;

/// CBLAS passes real factors by value and complex ones by address.
template <class T, class Factor>
struct Routines {
  void (*gemm)(int order, int trans_a, int trans_b, Int m, Int n, Int k, Factor alpha, const T* a, Int lda, const T* b,
               Int ldb, Factor beta, T* c, Int ldc);
  void (*gemv)(int order, int trans, Int m, Int n, Factor alpha, const T* a, Int lda, const T* x, Int incx, Factor beta,
               T* y, Int incy);
};

struct Library {
  Routines<float, float> f32;
  Routines<double, double> f64;
  Routines<complex64, const complex64*> c64;
  Routines<complex128, const complex128*> c128;
  void (*set_num_threads)(int count);
  void* handle;  ///< for dlsym: the names are "scipy_" + name + "64_"
};

/// Where the shared library lies; takes effect if called before the first use.
void set_blas_path(const char* path);

/// Null when the library is missing. Every call into it runs on the calling thread: the pool does the splitting.
const Library* library();

}  // namespace adjoint::blas
