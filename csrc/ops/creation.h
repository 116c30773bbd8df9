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

// From sizes.
TensorPtr create_zeros(const SizeArgs& size, const CreationOptions& options);
TensorPtr create_ones(const SizeArgs& size, const CreationOptions& options);
TensorPtr create_empty(const SizeArgs& size, std::optional<MemoryFormat> format, const CreationOptions& options);
TensorPtr create_full(const SizeList& size, const Number& value, const CreationOptions& options);
TensorPtr create_scalar(const Number& value, const CreationOptions& options);
/// Memory with strides of the caller's, which may overlap but not go backwards.
TensorPtr create_strided(const SizeList& size, const SizeList& stride, const CreationOptions& options);
/// Memory with the dimensions in this order, from the outermost to the innermost.
TensorPtr create_permuted(const SizeList& size, const SizeList& layout, const CreationOptions& options);
/// Ones on the diagonal of n rows and m columns, as many as rows unless they are given; zeros elsewhere.
TensorPtr create_eye(int64_t n, std::optional<int64_t> m, const CreationOptions& options);

// Of another tensor's sizes and type.
TensorPtr zeros_like(Tensor* input, std::optional<MemoryFormat> format, const CreationOptions& options);
TensorPtr ones_like(Tensor* input, std::optional<MemoryFormat> format, const CreationOptions& options);
TensorPtr empty_like(Tensor* input, std::optional<MemoryFormat> format, const CreationOptions& options);
TensorPtr full_like(Tensor* input, const Number& value, std::optional<MemoryFormat> format,
                    const CreationOptions& options);

// Of another tensor's type.
TensorPtr new_zeros(Tensor* input, const SizeArgs& size, const CreationOptions& options);
TensorPtr new_ones(Tensor* input, const SizeArgs& size, const CreationOptions& options);
TensorPtr new_empty(Tensor* input, const SizeArgs& size, const CreationOptions& options);
TensorPtr new_full(Tensor* input, const SizeList& size, const Number& value, const CreationOptions& options);
TensorPtr new_strided(Tensor* input, const SizeList& size, const SizeList& stride, const CreationOptions& options);

}  // namespace adjoint::ops
