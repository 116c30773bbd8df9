// torch.Generator and the functions of seeds.
#pragma once

#include "core/generator.h"
#include "core/guard.h"

namespace adjoint {

/// The generator that an object is; null for other objects.
Generator* to_generator(PyObject* object);

/// Adds the type, the default generator and the functions of its seeds to the module.
void init_generator(PyObject* module);

}  // namespace adjoint
