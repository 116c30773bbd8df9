// The thread's mode flags: one word, tested once per op; zero is the fast path.
#pragma once

#include <cstdint>

namespace adjoint {

enum ModeFlags : uint32_t {
  kGradDisabled = 1,
  kInferenceMode = 2,
  kAnomaly = 4,               ///< nodes record the traceback of their making, and failures in backward are explained
  kAnomalySkipNan = 8,        ///< with kAnomaly: nan in gradients is no failure
  kSavedTensorHooks = 16,     ///< what is saved goes through a pack hook; see tape/saved_value.h
  kAnomalyCheckInf = 32,      ///< with kAnomaly: inf in gradients is a failure
  kAnomalyCheckForward = 64,  ///< ops that make nan or inf fail
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
