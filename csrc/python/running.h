// Which transform runs a function in this thread, for what functions in transforms may not do.
#pragma once

#include <cstdint>

namespace adjoint::python {

/// As KINDS in src/adjoint/_running.py.
enum class Running : uint8_t { Nothing, Gradient, Vmap, Tangent };
inline thread_local Running running = Running::Nothing;  ///< the innermost one

}  // namespace adjoint::python
