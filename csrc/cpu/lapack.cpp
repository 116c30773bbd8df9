// Finding LAPACK's routines in the library of cpu/blas.cpp.
#include "cpu/lapack.h"

#include <dlfcn.h>

#include <string>

namespace adjoint::lapack {
namespace {

template <class F>
void find(const std::string& name, F*& function) {
  const blas::Library* library = blas::library();
  if (!library) fail("linear algebra needs LAPACK, which was not found; install it with: pip install scipy-openblas64");
  function = reinterpret_cast<F*>(dlsym(library->handle, ("scipy_" + name + "64_").c_str()));
  if (!function) fail("LAPACK's ", name, " was not found; install a newer scipy-openblas64");
}

template <class T>
Routines<T> load(char letter) {
  Routines<T> found{};
  auto get = [&](const char* name, auto& function) {
    find(std::string("LAPACKE_") + letter + name + "_work", function);
  };
  constexpr bool complex = is_complex_v<T>;
  get("potrf", found.potrf);
  get("potri", found.potri);
  get("potrs", found.potrs);
  get("getrf", found.getrf);
  get("getri", found.getri);
  get("getrs", found.getrs);
  get("geqrf", found.geqrf);
  get(complex ? "ungqr" : "orgqr", found.orgqr);
  get(complex ? "unmqr" : "ormqr", found.ormqr);
  get("gels", found.gels);
  get("sytrf", found.sytrf);
  get("sytrs", found.sytrs);
  if (complex) {
    get("hetrf", found.hetrf);
    get("hetrs", found.hetrs);
  }
  get("gesdd", found.gesdd);
  get(complex ? "heevd" : "syevd", found.syevd);
  get("geev", found.geev);
  get("gelsy", found.gelsy);
  get("gelsd", found.gelsd);
  get("gelss", found.gelss);
  find(std::string("cblas_") + letter + "trsm", found.trsm);
  return found;
}

}  // namespace

#define ADJOINT_LAPACK(type, letter)                         \
  template <>                                                \
  const Routines<type>& routines<type>() {                   \
    static const Routines<type> loaded = load<type>(letter); \
    return loaded;                                           \
  }
ADJOINT_LAPACK(float, 's')
ADJOINT_LAPACK(double, 'd')
ADJOINT_LAPACK(complex64, 'c')
ADJOINT_LAPACK(complex128, 'z')
#undef ADJOINT_LAPACK

}  // namespace adjoint::lapack
