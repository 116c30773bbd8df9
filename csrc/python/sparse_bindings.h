// What the room of sparse tensors in Python is made of.
#pragma once

#include <Python.h>

namespace adjoint::python {

/// Adds _sparse_tensor and its like to the module.
void init_sparse(PyObject* module);

}  // namespace adjoint::python
