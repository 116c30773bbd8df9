// The device of sparse tensors: nothing can be allocated or computed there.
#pragma once

#include "core/storage.h"
#include "kernels/backend.h"

namespace adjoint::sparse {

/// Refuses, as all kernels do.
Storage* allocate(size_t nbytes, Device device);

extern const Backend backend;

}  // namespace adjoint::sparse
