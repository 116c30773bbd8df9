#include "cuda/driver.h"

#include "core/device_error.h"

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
  static Library library(kDriverFiles);
  if (!library.open()) {
    const std::string& complaint = library.complaint();
    found.missing = "no NVIDIA driver was found" + (complaint.empty() ? "" : " (" + complaint + ")") +
                    "; install one, or use device='cpu'";
    return found;
  }
  if (const std::string lacking = found.functions.find(library); !lacking.empty())
    found.missing = "the NVIDIA driver is too old: it has no " + lacking + "; install one for CUDA 12 or newer";
  if (!found.missing.empty()) return found;
  int version = 0, count = 0;
  if (found.functions.initialize(0) != kSuccess || found.functions.device_count(&count) != kSuccess || count == 0) {
    found.missing = "the NVIDIA driver finds no GPU; look at nvidia-smi and CUDA_VISIBLE_DEVICES, or use device='cpu'";
  } else if (found.functions.driver_version(&version) == kSuccess) {
    set_newest_cuda(version / 1000);
    if (version < kOldestDriver)
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

std::string Driver::find(const Library& library) {
  std::string missing;
#define ADJOINT_DRIVER_FUNCTION(name, symbol, parameters) ADJOINT_FUNCTION_FOUND(name, symbol, Result, parameters)
  ADJOINT_EACH_DRIVER_FUNCTION(ADJOINT_DRIVER_FUNCTION)
#undef ADJOINT_DRIVER_FUNCTION
  return missing;
}

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
  fail_device("CUDA error: ", text, " (", name, "), in ", what);
}

}  // namespace adjoint::cuda
