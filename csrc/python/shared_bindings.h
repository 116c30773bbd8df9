// Tensors in memory that processes share: what share_memory_() and adjoint.multiprocessing are made of.
#pragma once

#include "core/guard.h"

namespace adjoint::python {

void init_shared(PyObject* module);

}  // namespace adjoint::python
