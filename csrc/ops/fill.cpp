#include "ops/fill.h"

#include "kernels/copy.h"
#include "python/arg.h"
#include "python/creation.h"

namespace adjoint::ops {

TensorPtr filled(Tensor* input, PyObject* value) {
  TensorPtr source = python::to_tensor(value);
  if (source->ndim() > 0)
    fail("fill_ only supports 0-dimension value tensor but got tensor with ", source->ndim(), " dimensions.");
  if (!is_tensor(value)) python::check_fill(python::Arg{value, "fill_", "value"}, input->dtype);
  source = cast(source.get(), input->dtype);
  TensorPtr result = empty(input->sizes(), input->dtype);
  kernels::fill(result->view(), source->data);
  return result;
}

TensorPtr zeroed(Tensor* input) {
  TensorPtr zero = scalar_tensor(int64_t{0});
  return filled(input, as_object(zero.get()));
}

}  // namespace adjoint::ops
