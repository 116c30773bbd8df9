// What use_deterministic_algorithms() asked for, of the whole process; written under the interpreter's lock, and read
// there, but for what kernels ask.
#pragma once

#include <atomic>

namespace adjoint {

struct Deterministic {
  std::atomic<bool> enabled{false};  ///< ops whose results may differ from run to run are refused ...
  bool warn_only = false;            ///< ... or warned of
  bool fill_memory = true;           ///< while enabled, new memory is filled with values that show
};
inline Deterministic deterministic;

/// Refuses an op of this name, for which torch does not promise the same result, or warns of it, where that is asked.
void alert_not_deterministic(const char* op);

inline bool fills_memory() { return deterministic.enabled && deterministic.fill_memory; }

}  // namespace adjoint
