// The device of batched tensors: nothing can be allocated or computed there.
#pragma once

#include "core/storage.h"
#include "kernels/backend.h"

namespace adjoint::batched {

/// Refuses, as all kernels do.
Storage* allocate(size_t nbytes, Device device);

extern const Backend backend;

}  // namespace adjoint::batched
