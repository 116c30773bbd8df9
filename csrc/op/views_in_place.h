// In-place functions that give a tensor other sizes or other memory. Each returns its first argument.
#pragma once

#include <optional>

#include "core/guard.h"
#include "core/ints.h"
#include "core/memory_format.h"
#include "core/tensor.h"

namespace adjoint::composed {

/// x.set_(): no elements; x.set_(tensor): its memory and geometry; the rest: any geometry in the tensor's storage.
Object set_(Tensor* input, PyObject* source, PyObject* storage_offset, PyObject* size, PyObject* stride);
Object resize_(Tensor* input, const Ints& size, std::optional<MemoryFormat> memory_format);
Object resize_as_(Tensor* input, Tensor* the_template, std::optional<MemoryFormat> memory_format);

}  // namespace adjoint::composed
