#include "ops/complex.h"

#include "core/lock.h"
#include "kernels/backend.h"
#include "ops/elementwise.h"

namespace adjoint::ops {
namespace {

/// Writes `part` into the real (0) or imaginary (1) parts of `whole`, broadcast.
void write_part(const Tensor* part, Tensor* whole, int which) {
  int64_t from[kMaxDims], to[kMaxDims];
  broadcast_strides(part->shape, whole->sizes(), from);
  for (int d = 0; d < whole->ndim(); ++d) to[d] = 2 * whole->stride(d);
  View target = whole->view(whole->ndim(), whole->shape->sizes(), to);
  target.dtype = part->dtype;
  on(whole->device).memory.copy(part->view(whole->ndim(), whole->shape->sizes(), from), target.shifted(which));
}

}  // namespace

TensorPtr complex(Tensor* real, Tensor* imag) {
  auto fits = [](DType dtype) { return dtype == DType::Float16 || dtype == DType::Float32 || dtype == DType::Float64; };
  if (!fits(real->dtype) || !fits(imag->dtype))
    fail("Expected both inputs to be Half, Float or Double tensors but got ", info(real->dtype).legacy_name, " and ",
         info(imag->dtype).legacy_name, "; convert them to float32 or float64");
  if (real->dtype != imag->dtype)
    fail("Expected object of scalar type ", info(real->dtype).legacy_name, " but got scalar type ",
         info(imag->dtype).legacy_name, " for second argument");
  Operand operands[2];
  operands[0].set(real);
  operands[1].set(imag);
  TensorPtr result = empty(result_shape(operands, 2, real->dtype), complex_type(real->dtype), real->device);
  WithoutLock unlocked(result->numel());
  write_part(real, result.get(), 0);
  write_part(imag, result.get(), 1);
  return result;
}

}  // namespace adjoint::ops
