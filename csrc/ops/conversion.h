// Changing a tensor's element type.
#pragma once

#include <optional>

#include "ops/memory.h"

namespace adjoint::ops {

/// A copy in another type or memory format; the tensor itself when it has that type already and no copy is asked for.
inline TensorPtr to_dtype(Tensor* input, DType dtype, bool copy, std::optional<MemoryFormat> memory_format) {
  if (memory_format && *memory_format != MemoryFormat::Preserve) {
    TensorPtr result = empty(shape_in_format(input->sizes(), *memory_format), dtype, input->device);
    copy_into(input, result.get());
    return result;
  }
  return copy && input->dtype == dtype ? clone(input) : cast(input, dtype);
}

}  // namespace adjoint::ops
