// The thread's mode flags: one word, tested once per op; zero is the fast path.
#pragma once

#include <cstdint>

namespace adjoint {

enum ModeFlags : uint32_t {
  kGradDisabled = 1,
  kInferenceMode = 2,
  kAnomaly = 4,
  kAnomalyCheckNan = 8,
  kSavedTensorHooks = 16,
};

/// Initial-exec: read by every op, so it must not cost a function call.
#if defined(__linux__)
#define ADJOINT_FAST_TLS __attribute__((tls_model("initial-exec")))
#else
#define ADJOINT_FAST_TLS
#endif
extern thread_local ADJOINT_FAST_TLS constinit uint32_t mode_flags;

inline bool grad_enabled() { return !(mode_flags & kGradDisabled); }

/// Turns recording off (or on) while it lives.
class GradModeGuard {
 public:
  explicit GradModeGuard(bool enabled) : before_(mode_flags) {
    mode_flags = enabled ? mode_flags & ~kGradDisabled : mode_flags | kGradDisabled;
  }
  ~GradModeGuard() { mode_flags = before_; }
  GradModeGuard(const GradModeGuard&) = delete;
  GradModeGuard& operator=(const GradModeGuard&) = delete;

 private:
  uint32_t before_;
};

}  // namespace adjoint
