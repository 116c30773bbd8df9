// The meta device: tensors that have a shape and a type, and no memory.
#pragma once

#include "core/storage.h"
#include "kernels/backend.h"

namespace adjoint::meta {

/// A storage of this size at an address that is never used.
Storage* allocate(size_t nbytes, Device device);

extern const Backend backend;

}  // namespace adjoint::meta
