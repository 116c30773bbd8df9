// What errors about the type of an argument say at their end: how it becomes what is expected.
#pragma once

#include <Python.h>

#include <string>
#include <string_view>

namespace adjoint {

/// How an object becomes of a kind, as errors call it; nothing where that is not known.
std::string conversion_advice(PyObject* object, std::string_view kind);

}  // namespace adjoint
