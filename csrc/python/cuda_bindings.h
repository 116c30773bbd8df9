// What torch.cuda asks of the devices: src/adjoint/cuda.
#pragma once

#include <Python.h>

namespace adjoint::python {

void init_cuda(PyObject* module);

}  // namespace adjoint::python
