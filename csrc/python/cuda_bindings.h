// What torch.cuda asks of the devices: src/adjoint/cuda.
#pragma once

#include <Python.h>

namespace adjoint::python {

/// The number of a GPU that is there.
int to_device_index(PyObject* object);

void init_cuda(PyObject* module);
void init_cuda_streams(PyObject* module);
void init_cuda_marks(PyObject* module);

}  // namespace adjoint::python
