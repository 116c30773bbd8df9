// The Python type of tensors.
#pragma once

#include "core/guard.h"
#include "core/tensor.h"

namespace adjoint::python {

/// Makes the type and adds it to the module as `Tensor`.
void init_tensor_type(PyObject* module);

/// An instance of a subclass of Tensor on the memory of `data`; no history.
Object make_subclass(PyTypeObject* type, Tensor* data, bool requires_grad);

void set_requires_grad(Tensor* tensor, bool value);

}  // namespace adjoint::python
