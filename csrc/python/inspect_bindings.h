// What adjoint.inspect needs and Python cannot see: the nodes of a graph, and the memory that they hold.
#pragma once

#include <Python.h>

namespace adjoint::python {

void init_inspect(PyObject* module);

}  // namespace adjoint::python
