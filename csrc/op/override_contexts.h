// DisableTorchFunction and its like.
#pragma once

#include <Python.h>

namespace adjoint {

void init_override_contexts(PyObject* module);

}  // namespace adjoint
