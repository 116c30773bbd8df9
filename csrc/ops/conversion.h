// Changing a tensor's element type.
#pragma once

#include <optional>

#include "core/ints.h"
#include "core/scalar.h"
#include "core/tensor.h"
#include "op/arg.h"
#include "ops/memory.h"
#include "types/formats.h"

namespace adjoint::ops {

/// A copy in another type or memory format; the tensor itself when it has that type already and no copy is asked for.
inline TensorPtr to_dtype(Tensor* input, DType dtype, bool copy, PyObject* memory_format) {
  std::optional<MemoryFormat> format = to_memory_format(memory_format);
  if (!format && memory_format != Py_None) Arg{memory_format, "to", "memory_format"}.wrong_type("torch.memory_format");
  if (format && *format != MemoryFormat::Preserve) {
    TensorPtr result = empty(shape_in_format(input->sizes(), *format), dtype, input->device);
    copy_into(input, result.get());
    return result;
  }
  return copy && input->dtype == dtype ? clone(input) : cast(input, dtype);
}

}  // namespace adjoint::ops
