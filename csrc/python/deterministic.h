// What use_deterministic_algorithms() sets.
#pragma once

#include "core/guard.h"

namespace adjoint::python {

void init_deterministic(PyObject* module);

}  // namespace adjoint::python
