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
/// The policy of this name, as in a Declaration; None for Python's None.
Autocast to_autocast(PyObject* name);

/// The arguments of one call after their casts, which are recorded like any other; no further casts while it lives.
class AutocastCall {
 public:
  AutocastCall(Autocast policy, PyObject* const* args, size_t count);
  PyObject* const* args() const { return args_.data(); }

 private:
  AutocastOff inside_;
  std::vector<Object> owned_;
  std::vector<PyObject*> args_;
};

/// Adds the functions that set and ask the mode to the module.
void init_autocast(PyObject* module);

}  // namespace adjoint
