#include "ops/fill.h"

#include "core/mode.h"
#include "core/warning.h"
#include "ops/elementwise.h"
#include "ops/memory.h"
#include "ops/numbers.h"

namespace adjoint::ops {

namespace {

/// `source` repeated to the sizes of `target`, into it.
void copy_repeated(const Tensor* source, Tensor* target) {
  int64_t strides[kMaxDims];
  broadcast_strides(source->shape, target->sizes(), strides);
  copy_into(source->view(target->ndim(), target->shape->sizes(), strides), target->view());
}

bool same_elements(const Tensor* a, const Tensor* b) {
  return a->offset() == b->offset() && a->shape == b->shape && a->dtype == b->dtype;
}

}  // namespace

TensorPtr filled(Tensor* input, const Value& value) {
  TensorPtr result = empty(dense_shape(input->shape), input->dtype, input->device);
  fill_(result.get(), value);
  return result;
}

void fill_(Tensor* input, const Value& value) {
  if (value.is_number()) return fill_value(input, value.number);
  if (value.tensor->ndim() > 0)
    fail("fill_ only supports 0-dimension value tensor but got tensor with ", value.tensor->ndim(), " dimensions.");
  copy_repeated(cast(value.tensor, input->dtype).get(), input);
}

void zero_(Tensor* input) { fill(input, Scalar::of(int64_t{0})); }

void copy_(Tensor* input, const Value& other, bool non_blocking) {
  warn_if_imaginary_part_goes(other.category(), input->dtype);
  if (other.is_number()) return fill(input, other.number);
  int64_t sizes[kMaxDims];
  auto ndim = static_cast<size_t>(broadcast_sizes(input->sizes(), other.tensor->sizes(), sizes));
  check_in_place_result(input, {sizes, ndim}, input->dtype);
  // What lies in the same memory may be overwritten while it is read.
  const bool shared = other.tensor->storage == input->storage && !same_elements(other.tensor, input);
  const SwitchGuard guard(non_blocking_copies, non_blocking);
  copy_repeated(shared ? clone(other.tensor).get() : other.tensor, input);
}

}  // namespace adjoint::ops
