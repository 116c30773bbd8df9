// Finding OpenBLAS's functions in the shared library of the scipy-openblas64 wheel.
#include "cpu/blas.h"

#include <dlfcn.h>

#include <string>

namespace adjoint::blas {
namespace {

std::string& path() {
  static std::string text;
  return text;
}

/// The wheel prefixes and suffixes every name, so that several copies can live in one process.
template <class F>
bool find(void* handle, const char* name, F*& function) {
  function = reinterpret_cast<F*>(dlsym(handle, (std::string("scipy_") + name + "64_").c_str()));
  return function != nullptr;
}

template <class T, class Factor>
bool find_routines(void* handle, char letter, Routines<T, Factor>& routines) {
  const std::string start = std::string("cblas_") + letter;
  return find(handle, (start + "gemm").c_str(), routines.gemm) && find(handle, (start + "gemv").c_str(), routines.gemv);
}

const Library* load() {
  static Library found{};
  if (path().empty()) return nullptr;
  found.handle = dlopen(path().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!found.handle) return nullptr;
  bool complete = find_routines(found.handle, 's', found.f32) && find_routines(found.handle, 'd', found.f64) &&
                  find_routines(found.handle, 'c', found.c64) && find_routines(found.handle, 'z', found.c128) &&
                  find(found.handle, "openblas_set_num_threads", found.set_num_threads);
  if (!complete) return nullptr;
  found.set_num_threads(1);
  return &found;
}

}  // namespace

void set_blas_path(const char* text) { path() = text ? text : ""; }

const Library* library() {
  static const Library* const loaded = load();
  return loaded;
}

}  // namespace adjoint::blas
