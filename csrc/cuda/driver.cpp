#include "cuda/driver.h"

#include "core/error.h"
#include "cuda/library.h"

namespace adjoint::cuda {
namespace {

/// Of CUDA 12.0: older ones lack functions, and what the compiler of today makes.
constexpr int kOldestDriver = 12000;

struct Found {
  Driver functions{};
  std::string missing;
};

Found find_driver() {
  Found found;
  static Library library({"libcuda.so.1"});
  if (!library.open()) {
    const bool absent = library.reason().find("No such file") != std::string::npos;
    found.missing = "no NVIDIA driver was found" + (absent ? "" : " (" + library.reason() + ")") +
                    "; install one, or use device='cpu'";
    return found;
  }
#define ADJOINT_FIND(name, symbol, parameters)                                          \
  found.functions.name = reinterpret_cast<Result(*) parameters>(library.find(#symbol)); \
  if (!found.functions.name && found.missing.empty())                                   \
    found.missing = "the NVIDIA driver is too old: it has no " #symbol "; install one for CUDA 12 or newer";
  ADJOINT_EACH_DRIVER_FUNCTION(ADJOINT_FIND)
#undef ADJOINT_FIND
  if (!found.missing.empty()) return found;
  const auto initialize = reinterpret_cast<Result (*)(unsigned)>(library.find("cuInit"));
  int version = 0, count = 0;
  if (!initialize || initialize(0) != kSuccess || found.functions.device_count(&count) != kSuccess || count == 0) {
    found.missing = "the NVIDIA driver finds no GPU; look at nvidia-smi and CUDA_VISIBLE_DEVICES, or use device='cpu'";
  } else if (found.functions.driver_version(&version) == kSuccess && version < kOldestDriver) {
    found.missing = "the NVIDIA driver is too old: it is for CUDA " + std::to_string(version / 1000) + "." +
                    std::to_string(version % 1000 / 10) + "; install one for CUDA 12 or newer";
  }
  return found;
}

const Found& found_driver() {
  static const Found found = find_driver();
  return found;
}

}  // namespace

const std::string& why_unavailable() { return found_driver().missing; }

thread_local void (*before_driver_calls)() = nullptr;

const Driver& driver() {
  if (before_driver_calls) [[unlikely]]
    before_driver_calls();
  const Found& found = found_driver();
  if (!found.missing.empty()) fail("CUDA is not available: ", found.missing);
  return found.functions;
}

void check(Result result, const char* what) {
  if (result == kSuccess) [[likely]]
    return;
  const char *name = "unknown error", *text = "";
  driver().get_error_name(result, &name);
  driver().get_error_string(result, &text);
  fail("CUDA error in ", what, ": ", text, " (", name, ")");
}

}  // namespace adjoint::cuda
