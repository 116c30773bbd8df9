// Which transforms run functions in this thread: what such a function may not do, and how its tensors are printed.
#pragma once

#include "core/guard.h"

namespace adjoint::python {

/// As KINDS in src/adjoint/_running.py.
enum class Running : uint8_t { Nothing, Gradient, Vmap, Tangent };
inline thread_local Running running = Running::Nothing;  ///< the innermost one

/// While a vmap of this level runs a function.
class RunningVmap {
 public:
  explicit RunningVmap(uint64_t level);
  ~RunningVmap();
  RunningVmap(const RunningVmap&) = delete;
  RunningVmap& operator=(const RunningVmap&) = delete;
};

void init_running(PyObject* module);

}  // namespace adjoint::python
