// Tensors made from sizes, or after another tensor: zeros, ones, empty, full, their like and new forms, eye.
#pragma once

#include <optional>

#include "core/ints.h"
#include "core/memory_format.h"
#include "core/number.h"
#include "core/tensor.h"

namespace adjoint::ops {

/// What is asked of a new tensor beside its sizes: the keywords that all functions have which make one.
struct CreationOptions {
  std::optional<DType> dtype;  ///< that of out=, where there is one
  Device device;
  bool leaf = false;            ///< it is to require grad
  const Tensor* out = nullptr;  ///< what the result will be written into

  /// The type of the result, by default `natural`; refuses one without gradients where they are required.
  DType type(DType natural) const;
};

/// Refuses types that have no gradient.
void check_differentiable(DType dtype);
/// Where use_deterministic_algorithms() asks for it, gives new memory values that show that nothing was written yet.
void mark_unset(Tensor* tensor);
/// The shape of `zeros_like(tensor)` and its relatives.
ShapePtr shape_like(const Tensor* tensor, std::optional<MemoryFormat> format);

TensorPtr create_zeros(const SizeArgs& size, const CreationOptions& options);

}  // namespace adjoint::ops
