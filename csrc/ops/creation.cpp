#include "ops/creation.h"

#include "core/deterministic.h"
#include "core/lock.h"
#include "kernels/backend.h"
#include "ops/memory.h"

namespace adjoint::ops {
namespace {

TensorPtr zeros_of(ShapePtr shape, DType dtype, Device device) {
  TensorPtr result = empty(std::move(shape), dtype, device);
  WithoutLock unlocked(result->numel());
  on(device).memory.clear(result->view());
  return result;
}

}  // namespace

DType CreationOptions::type(DType natural) const {
  DType chosen = dtype.value_or(natural);
  if (leaf) check_differentiable(chosen);
  return chosen;
}

void check_differentiable(DType dtype) {
  if (!is_differentiable(dtype))
    fail("Only Tensors of floating point and complex dtype can require gradients; got ", info(dtype).name,
         ": write the values as floats (1. for 1), or pass dtype=");
}

void mark_unset(Tensor* tensor) {
  if (fills_memory()) on(tensor->device).memory.fill_unset(tensor->view());
}

ShapePtr shape_like(const Tensor* tensor, std::optional<MemoryFormat> format) {
  if (format && *format != MemoryFormat::Preserve) return shape_in_format(tensor->sizes(), *format);
  return dense_shape(tensor->shape);
}

TensorPtr create_zeros(const SizeArgs& size, const CreationOptions& options) {
  return zeros_of(make_shape(size), options.type(default_dtype()), options.device);
}

}  // namespace adjoint::ops
