// Random numbers from Python: the Generator type, the functions that make random tensors and the in-place fills.
#pragma once

#include "core/guard.h"
#include "core/tensor.h"
#include "cpu/random.h"

namespace adjoint::python {

/// The generator of a generator= argument: the default one for null and None; throws for other objects.
Generator& to_generator(PyObject* object);

/// uniform_, normal_, random_, ..., to be methods of Tensor.
extern PyMethodDef random_methods[];
/// Adds everything to the module; calls init_generator, which adds the Generator type and the functions of seeds.
void init_random(PyObject* module);
void init_generator(PyObject* module);

}  // namespace adjoint::python
