#include "op/views_in_place.h"

#include <algorithm>
#include <array>

#include "core/mode.h"
#include "core/tangent.h"
#include "op/arg.h"
#include "ops/memory.h"
#include "ops/views.h"
#include "tape/geometry.h"
#include "tape/history.h"

namespace adjoint::composed {
namespace {

[[noreturn]] void refuse_set(PyObject* source) {
  fail(ErrorKind::Type, "set_() received an invalid combination of arguments - got (", Py_TYPE(source)->tp_name,
       "), but expected nothing, a Tensor source, or (Tensor source, int storage_offset, tuple of ints size, tuple of "
       "ints stride = None)");
}

/// Whether a tensor has tangents; those of levels that are closed are no more.
bool in_forward_mode(const Tensor* tensor) { return (mode_flags & kFunctional) && has_tangents(tensor); }

void resize_to(Tensor* tensor, Sizes sizes, MemoryFormat format, const char* op) {
  if (requires_grad(tensor)) fail("cannot resize variables that require grad; detach() the tensor first");
  if (in_forward_mode(tensor)) fail("cannot resize variables that has a forward grad; detach() the tensor first");
  check_inplace(tensor, op, false);
  if (format == MemoryFormat::Preserve) fail("Unsupported memory formatPreserve; name the order that is meant");
  checked_numel(sizes);
  if (std::ranges::equal(sizes, tensor->sizes())) return;
  resize(tensor, shape_in_format(sizes, format));
  bump_version(tensor, op);
}

}  // namespace

Object set_(Tensor* input, PyObject* source, PyObject* storage_offset, PyObject* size, PyObject* stride) {
  if (in_forward_mode(input) || (is_tensor(source) && in_forward_mode(as_tensor(source))))
    fail(ErrorKind::NotImplemented,
         "Trying to use forward AD with set_ that does not support it because it has not been implemented yet; "
         "detach() the tensors first");
  if (source == Py_None) {
    TensorPtr nothing = empty(std::array<int64_t, 1>{0}, input->dtype, input->device);
    set_source(input, nothing.get(), nothing.get());
    return Object::borrow(as_object(input));
  }
  bool placed = storage_offset != Py_None;
  if (!is_tensor(source) || placed != (size != Py_None) || (placed && !PyLong_Check(storage_offset)))
    refuse_set(source);
  Tensor* from = as_tensor(source);
  if (from->dtype != input->dtype)
    fail("Could not set tensor of type ", info(from->dtype).c_name, " to a tensor of type ", info(input->dtype).c_name,
         "; convert it first");
  if (!placed) {
    set_source(input, from, from);
    return Object::borrow(as_object(input));
  }
  if (!from->contiguous()) fail("passed in tensor to be used as storage must be contiguous; call contiguous() first");
  Ints sizes = Arg{size, "set_", "size"};
  ShapePtr standard = make_shape(sizes);
  Ints strides;
  if (stride != Py_None) strides = Arg{stride, "set_", "stride"};
  if (stride == Py_None)
    for (int64_t step : standard->stride_span()) strides.push(step, "set_");
  // It counts from the source's first element, whatever its name says.
  int64_t offset = Arg{storage_offset, "set_", "storage_offset"};
  TensorPtr geometry = ops::as_strided_within(from, sizes, strides, offset);
  set_source(input, from, geometry.get());
  return Object::borrow(as_object(input));
}

Object resize_(Tensor* input, const Ints& size, std::optional<MemoryFormat> memory_format) {
  resize_to(input, size, memory_format.value_or(MemoryFormat::Contiguous), "resize_");
  return Object::borrow(as_object(input));
}

Object resize_as_(Tensor* input, Tensor* the_template, std::optional<MemoryFormat> memory_format) {
  MemoryFormat format = memory_format.value_or(MemoryFormat::Contiguous);
  if (format == MemoryFormat::Preserve) format = suggested_format(the_template->shape);
  resize_to(input, the_template->sizes(), format, "resize_as_");
  return Object::borrow(as_object(input));
}

}  // namespace adjoint::composed
