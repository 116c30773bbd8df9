// The thread's mode flags: one word, tested once per op; zero is the fast path.
#pragma once

#include <cstdint>

#include "core/dtype.h"

namespace adjoint {

enum ModeFlags : uint32_t {
  kGradDisabled = 1,
  kInferenceMode = 2,
  kAutocast = 4,              ///< ops choose the type that they compute in; see op/autocast.h
  kAutocastPaused = 8,        ///< autocast is on for the user, and off inside of the op that is running
  kSavedTensorHooks = 16,     ///< what is saved goes through a pack hook; see tape/saved_value.h
  kTransformed = 32,          ///< ops go to the innermost transform; see op/transform.h
  kFunctional = 128,          ///< a level of vmap or of forward mode is open, even if it rests
  kAnomalyCheckForward = 64,  ///< ops that make nan or inf fail; see tape/anomaly.h
  kFunctionMode = 256,        ///< a mode sees calls of functions; see op/overrides.h
  kTypesOff = 512,            ///< types of arguments take no call over; see op/overrides.h
};

/// Initial-exec: read by every op, so it must not cost a function call.
#if defined(__linux__)
#define ADJOINT_FAST_TLS __attribute__((tls_model("initial-exec")))
#else
#define ADJOINT_FAST_TLS
#endif
extern thread_local ADJOINT_FAST_TLS constinit uint32_t mode_flags;

/// Puts a former word back. Some flags belong to stacks, of transforms and of modes, which may have changed meanwhile.
inline void restore_modes(uint32_t before) {
  constexpr uint32_t kept = kTransformed | kFunctional | kFunctionMode | kTypesOff;
  mode_flags = (before & ~kept) | (mode_flags & kept);
}

/// What goes with kAutocast.
struct AutocastState {
  DType dtype = DType::BFloat16;  ///< the lower type
  bool cache_enabled = true;      ///< the casts of parameters are kept
  int32_t nesting = 0;            ///< contexts that are open
};
extern thread_local constinit AutocastState autocast_state;

/// Copies between pinned memory and a device are not waited for: copy_(non_blocking=True).
extern thread_local constinit bool non_blocking_copies;

/// The backward that runs in this thread frees what nodes have kept once they were applied: nobody asks for it again.
extern thread_local constinit bool frees_kept_values;

/// One of these switches has a value while this lives.
class SwitchGuard {
 public:
  SwitchGuard(bool& its, bool value) : its_(its), before_(its) { its = value; }
  ~SwitchGuard() { its_ = before_; }
  SwitchGuard(const SwitchGuard&) = delete;
  SwitchGuard& operator=(const SwitchGuard&) = delete;

 private:
  bool& its_;
  bool before_;
};

inline bool grad_enabled() { return !(mode_flags & kGradDisabled); }
/// Inference mode records nothing, even where enable_grad() is inside of it.
inline bool recording() { return !(mode_flags & (kGradDisabled | kInferenceMode)); }

/// Turns grad mode off (or on) while it lives.
class GradModeGuard {
 public:
  explicit GradModeGuard(bool enabled) : before_(mode_flags) {
    mode_flags = enabled ? mode_flags & ~kGradDisabled : mode_flags | kGradDisabled;
  }
  ~GradModeGuard() { restore_modes(before_); }
  GradModeGuard(const GradModeGuard&) = delete;
  GradModeGuard& operator=(const GradModeGuard&) = delete;

 private:
  uint32_t before_;
};

/// No automatic casts while it lives: inside of an op that was cast as a whole, and for what is written in place. A
/// signal handler that runs meanwhile is told the user's mode.
class AutocastOff {
 public:
  AutocastOff() : before_(mode_flags & kAutocast) {
    if (before_) mode_flags ^= kAutocast | kAutocastPaused;
  }
  ~AutocastOff() {
    if (before_) mode_flags = (mode_flags & ~kAutocastPaused) | kAutocast;
  }
  AutocastOff(const AutocastOff&) = delete;
  AutocastOff& operator=(const AutocastOff&) = delete;

 private:
  uint32_t before_;
};

/// Normal mode while it lives, whatever is around it.
class RecordingGuard {
 public:
  RecordingGuard() : before_(mode_flags) { mode_flags &= ~(kGradDisabled | kInferenceMode); }
  ~RecordingGuard() { restore_modes(before_); }
  RecordingGuard(const RecordingGuard&) = delete;
  RecordingGuard& operator=(const RecordingGuard&) = delete;

 private:
  uint32_t before_;
};

}  // namespace adjoint
