#include "ops/fill.h"

#include "op/arg.h"
#include "ops/memory.h"
#include "python/creation.h"

namespace adjoint::ops {

namespace {

/// A number or a 0-d tensor as a 0-d tensor of a type. Numbers do not go by way of the default type, which would round.
TensorPtr as_element(PyObject* value, DType dtype, Device device) {
  if (!is_tensor(value)) {
    TensorPtr element = empty(Sizes(), dtype, device);
    python::fill_value(element.get(), Arg{value, "fill_", "value"});
    return element;
  }
  Tensor* source = as_tensor(value);
  if (source->ndim() > 0)
    fail("fill_ only supports 0-dimension value tensor but got tensor with ", source->ndim(), " dimensions.");
  return cast(source, dtype);
}

}  // namespace

TensorPtr spread_value(Tensor* input, PyObject* value) {
  const int64_t strides[kMaxDims] = {};
  ShapePtr shape = make_shape(input->sizes(), {strides, input->sizes().size()});
  return alias(as_element(value, input->dtype, input->device).get(), std::move(shape));
}

TensorPtr filled(Tensor* input, PyObject* value) {
  TensorPtr result = empty(input->sizes(), input->dtype, input->device);
  copy_into(spread_value(input, value).get(), result.get());
  return result;
}

TensorPtr zeroed(Tensor* input) {
  TensorPtr zero = scalar_tensor(int64_t{0});
  return spread_value(input, as_object(zero.get()));
}

}  // namespace adjoint::ops
