// Ops that torch does not promise the same result for.
#pragma once

#include "core/guard.h"

namespace adjoint::python {

/// Refuses an op of this name, or warns of it, where use_deterministic_algorithms() asks for that.
void alert_not_deterministic(const char* op);

void init_deterministic(PyObject* module);

}  // namespace adjoint::python
