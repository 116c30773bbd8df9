// What Python may ask the backward that runs in its thread.
#pragma once

#include "core/guard.h"

namespace adjoint::python {

void init_graph_running(PyObject* module);

}  // namespace adjoint::python
