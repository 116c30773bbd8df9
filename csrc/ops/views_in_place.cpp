// In-place ops that give a tensor other sizes or other memory: set_(), resize_(), resize_as_().
#include "core/memory_format.h"
#include "core/mode.h"
#include "op/arg.h"
#include "ops/memory.h"
#include "ops/views.h"
#include "python/creation.h"
#include "tape/change.h"
#include "tape/geometry.h"
#include "tape/history.h"
#include "types/types.h"

namespace adjoint::ops {
namespace {

[[noreturn]] void refuse_set(PyObject* source) {
  fail(ErrorKind::Type, "set_() received an invalid combination of arguments - got (", Py_TYPE(source)->tp_name,
       "), but expected nothing, a Tensor source, or (Tensor source, int storage_offset, tuple of ints size, tuple of "
       "ints stride = None)");
}

void resize_to(Tensor* tensor, Sizes sizes, MemoryFormat format, const char* op) {
  if (requires_grad(tensor)) fail("cannot resize variables that require grad; detach() the tensor first");
  check_inplace(tensor, op, false);
  if (format == MemoryFormat::Preserve) fail("Unsupported memory formatPreserve; name the order that is meant");
  checked_numel(sizes);
  if (std::ranges::equal(sizes, tensor->sizes())) return;
  resize(tensor, shape_in_format(sizes, format));
  bump_version(tensor, op);
}

MemoryFormat to_format(PyObject* object, const char* op) {
  if (object == Py_None) return MemoryFormat::Contiguous;
  std::optional<MemoryFormat> format = to_memory_format(object);
  if (!format) Arg{object, op, "memory_format"}.wrong_type("torch.memory_format");
  return *format;
}

}  // namespace

Object set_(PyObject* input, PyObject* source, PyObject* storage_offset, PyObject* size, PyObject* stride) {
  Tensor* tensor = Arg{input, "set_", "input"};
  if (source == Py_None) {
    TensorPtr nothing = empty(std::array<int64_t, 1>{0}, tensor->dtype, tensor->device);
    set_source(tensor, nothing.get(), nothing.get());
    return Object::borrow(input);
  }
  bool placed = storage_offset != Py_None;
  if (!is_tensor(source) || placed != (size != Py_None) || (placed && !PyLong_Check(storage_offset)))
    refuse_set(source);
  Tensor* from = as_tensor(source);
  if (from->dtype != tensor->dtype)
    fail("Could not set tensor of type ", info(from->dtype).c_name, " to a tensor of type ", info(tensor->dtype).c_name,
         "; convert it first");
  if (!placed) {
    set_source(tensor, from, from);
    return Object::borrow(input);
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
  TensorPtr geometry = as_strided_within(from, sizes, strides, offset);
  set_source(tensor, from, geometry.get());
  return Object::borrow(input);
}

Object resize_(PyObject* input, Ints size, PyObject* memory_format) {
  resize_to(Arg{input, "resize_", "input"}, size, to_format(memory_format, "resize_"), "resize_");
  return Object::borrow(input);
}

Object resize_as_(PyObject* input, Tensor* the_template, PyObject* memory_format) {
  MemoryFormat format = to_format(memory_format, "resize_as_");
  if (format == MemoryFormat::Preserve) format = suggested_format(the_template->shape);
  resize_to(Arg{input, "resize_as_", "input"}, the_template->sizes(), format, "resize_as_");
  return Object::borrow(input);
}

}  // namespace adjoint::ops
