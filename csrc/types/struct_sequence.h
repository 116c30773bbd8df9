// Types of tuples with names, as ops return them: struct sequences, like those of torch and of os.stat().
#pragma once

#include "core/guard.h"

namespace adjoint {

/// A new type with this qualified name and these fields, a tuple of strings. It lives as long as the process.
Object make_struct_sequence(PyObject* name, PyObject* fields);
/// What calling such a type with a tuple of as many values as it has fields gives, at half the price.
Object struct_sequence_of(PyObject* type, PyObject* values);

}  // namespace adjoint
