// Automatic casts: the type in which an op computes while autocast is on, as the op's declaration says.
#pragma once

#include <vector>

#include "core/guard.h"
#include "core/mode.h"
#include "core/tensor.h"

namespace adjoint {

/// What autocast does with the arguments of an op: all to the type of the mode, to float32, to the widest among them,
/// or nothing, not even inside (Off).
enum class Autocast : uint8_t { None, Lower, Float32, Promote, Off };
/// Policies of the CPU and of a GPU in one word, as ops keep them: None is none on either.
inline Autocast pair_of(Autocast cpu, Autocast gpu) {
  return static_cast<Autocast>(static_cast<uint8_t>(cpu) | static_cast<uint8_t>(gpu) << 4);
}
inline Autocast policy_on(Autocast pair, bool gpu) {
  return static_cast<Autocast>(gpu ? static_cast<uint8_t>(pair) >> 4 : static_cast<uint8_t>(pair) & 15);
}
/// The policies of this name, as in a Declaration, "lower" for both or "none, float32" for the CPU and a GPU; None for
/// Python's None.
Autocast to_autocast(PyObject* name);

/// The arguments of one call after their casts, which are recorded like any other; no further casts while it lives.
class AutocastCall {
 public:
  AutocastCall(Autocast policy, PyObject* const* args, size_t count);
  PyObject* const* args() const { return args_.data(); }
  /// Lets ops inside be cast on their own where the policy is none; only for what does not come back here itself.
  void resume_if_none() const {
    if (none_) mode_flags = (mode_flags & ~kAutocastPaused) | kAutocast;
  }

 private:
  AutocastOff inside_;
  bool none_ = false;
  std::vector<Object> owned_;
  std::vector<PyObject*> args_;
};

/// Adds the functions that set and ask the mode to the module.
void init_autocast(PyObject* module);

}  // namespace adjoint
