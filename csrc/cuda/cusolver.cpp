#include "cuda/cusolver.h"

#include <atomic>
#include <string>
#include <type_traits>

#include "core/error.h"
#include "core/warning.h"
#include "cuda/cublas.h"
#include "cuda/library.h"
#include "cuda/sessions.h"

namespace adjoint::cuda {
namespace {

struct Found {
  cusolver::TypedRoutines typed[4]{};
  cusolver::CommonRoutines common{};
  std::string missing;
  bool has_geev = false;
};

const Found& found() {
  static Library library(cusolver::kFiles);
  static const Found result = [] {
    Found all;
    if (!library.open()) {
      all.missing = "cuSOLVER was not found (" + library.reason() +
                    "), and linear algebra is computed on the CPU without it; install it with: pip install " +
                    wheel_name("cusolver");
      return all;
    }
    auto note = [&](const std::string& name, const void* address) {
      if (!address && all.missing.empty())
        all.missing = name + " is in no library, and linear algebra is computed on the CPU without it; install newer " +
                      "ones with: pip install -U " + wheel_name("cusolver") + " " + wheel_name("cublas");
    };
    auto set = [](auto& function, void* address) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
    };
    for (int i = 0; i < 4; ++i) {
      cusolver::TypedRoutines& routines = all.typed[i];
      auto named = [&](const char* library_name, const char* real, const char* complex) {
        return std::string(library_name) + "SDCZ"[i] + (i < 2 ? real : complex);
      };
      auto solver = [&](const char* real, const char* complex, auto& function) {
        const std::string name = named("cusolverDn", real, complex);
        void* address = library.find(name.c_str());
        note(name, address);
        set(function, address);
      };
      auto blas = [&](const char* real, const char* complex, auto& function) {
        const std::string name = named("cublas", real, complex);
        void* address = cublas_function(name.c_str());
        note(name, address);
        set(function, address);
      };
#define ADJOINT_FIND(name, real, complex, parameters) solver(#real, #complex, routines.name);
      ADJOINT_CUSOLVER_TYPED(ADJOINT_FIND)
#undef ADJOINT_FIND
#define ADJOINT_FIND(name, real, complex, parameters) blas(#real, #complex, routines.name);
      ADJOINT_CUBLAS_TYPED(ADJOINT_FIND)
#undef ADJOINT_FIND
    }
#define ADJOINT_FIND(name, nvidia, parameters) \
  set(all.common.name, library.find(#nvidia)); \
  note(#nvidia, reinterpret_cast<const void*>(all.common.name));
    ADJOINT_CUSOLVER_PLAIN(ADJOINT_FIND)
#undef ADJOINT_FIND
    all.has_geev = true;
#define ADJOINT_FIND(name, nvidia, parameters) \
  set(all.common.name, library.find(#nvidia)); \
  all.has_geev = all.has_geev && all.common.name;
    ADJOINT_CUSOLVER_NEWER(ADJOINT_FIND)
#undef ADJOINT_FIND
    return all;
  }();
  return result;
}

void check_status(int status, const char* what) {
  if (status == cusolver::kDone) [[likely]]
    return;
  const char* words = status == cusolver::kNoMemory       ? "it found too little memory"
                      : status == cusolver::kWrongValue   ? "it was given a wrong value"
                      : status == cusolver::kKernelFailed ? "a kernel failed"
                                                          : "see cusolverStatus_t";
  fail("CUDA error: cuSOLVER failed with status ", status, " (", words, ") when ", what,
       "; run with CUDA_LAUNCH_BLOCKING=1 to see whether an earlier operation failed");
}

struct Session {
  cusolver::Handle handle = nullptr;
  cusolver::EigenOptions eigen = nullptr;
  cusolver::SingularOptions singular = nullptr;
  cusolver::Parameters parameters = nullptr;

  Session() {
    const cusolver::CommonRoutines& common = found().common;
    check_status(common.create(&handle), "starting");
    check_status(common.create_syevj(&eigen), "starting");
    check_status(common.create_gesvdj(&singular), "starting");
    if (found().has_geev) check_status(common.create_options(&parameters), "starting");
  }
};

int number_of(DType dtype) {
  switch (dtype) {
    case DType::Float32: return 0;
    case DType::Float64: return 1;
    case DType::Complex64: return 2;
    default: return 3;
  }
}

}  // namespace

bool has_cusolver() {
  if (!has_cublas()) return false;
  if (found().missing.empty()) [[likely]]
    return true;
  static std::atomic<bool> warned{false};
  if (!warned.exchange(true)) warn_with_lock(found().missing);
  return false;
}

bool has_general_eigenvalues() { return has_cusolver() && found().has_geev; }

void Solver::check(int status, const char* what) const {
  check_status(status, what);
  finish_launch(device);
}

Solver solver_for(Device device, DType dtype) {
  auto& session = thread_session<Session>(device);
  check_status(found().common.set_stream(session.handle, current_stream(device)), "choosing a stream");
  constexpr int kTypes[] = {cublas::kReal32, cublas::kReal64, cublas::kComplex32, cublas::kComplex64};
  const int number = number_of(dtype);
  return {found().typed[number], found().common,     session.handle, cublas_handle(device), session.eigen,
          session.singular,      session.parameters, kTypes[number], number >= 2,           device};
}

}  // namespace adjoint::cuda
