// Python's operators on tensors: arithmetic, comparison, indexing, conversion to numbers.
#pragma once

#include <Python.h>

#include <vector>

namespace adjoint::python {

void add_operator_slots(std::vector<PyType_Slot>& slots);

}  // namespace adjoint::python
