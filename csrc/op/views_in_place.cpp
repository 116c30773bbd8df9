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
#include "types/storage.h"

namespace adjoint::composed {
namespace {

[[noreturn]] void refuse_set(PyObject* source) {
  fail(
      ErrorKind::Type, "set_() received an invalid combination of arguments - got (", Py_TYPE(source)->tp_name,
      "), but expected nothing, a Tensor or Storage source, or (Tensor or Storage source, int storage_offset, tuple of "
      "ints size, tuple of ints stride = None)");
}

void check_storage_device(const Tensor* input, Device device) {
  if (device != input->device)
    fail("Attempted to set the storage of a tensor on device \"", device_name(input->device.type),
         "\" to a storage on different device \"", device_name(device.type),
         "\".  This is no longer allowed; the devices must match.");
}

/// All elements of the storage that set_() is given, as a tensor of the type of `input`.
TensorPtr from_storage(const Tensor* input, PyObject* source) {
  StorageValue value = to_storage(source);
  if (value.dtype && *value.dtype != input->dtype)
    fail("Expected a Storage of type ", info(input->dtype).c_name, " or an UntypedStorage, but got type ",
         info(*value.dtype).legacy_name, " for argument 1 'storage'; use tensor.view(dtype)");
  check_storage_device(input, value.device);
  return on_storage(value, input->dtype);
}

/// A tensor of any geometry, counted from the first element of `from`, whose storage grows if need be.
TensorPtr placed(Tensor* from, const Ints& sizes, const Ints& strides, int64_t offset) {
  if (offset < 0) fail("Tensor: invalid storage offset ", offset);
  if (sizes.size() != strides.size())
    fail("unequal size length (", sizes.size(), ") and stride length (", strides.size(), ")");
  auto overflow = [&] {
    fail("Storage size calculation overflowed with sizes=", to_string(sizes), " and strides=", to_string(strides));
  };
  const int64_t item = itemsize(from->dtype);
  const int64_t numel = checked_numel(sizes);
  int64_t last = from->offset(), reach = 0, needed = 0;
  if (__builtin_add_overflow(last, offset, &last)) overflow();
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (strides[d] < 0) overflow();
    if (numel > 0 &&
        (__builtin_mul_overflow(sizes[d] - 1, strides[d], &reach) || __builtin_add_overflow(last, reach, &last)))
      overflow();
  }
  if (numel > 0) {
    if (last == INT64_MAX || __builtin_mul_overflow(last + 1, item, &needed) || needed >> 61) overflow();
    if (static_cast<size_t>(needed) > from->storage->nbytes) grow(from, static_cast<size_t>(needed));
  }
  // Without elements it does not matter where they are: at the start, so that nothing is beyond the end.
  return alias(from, make_shape(sizes, strides), numel > 0 ? offset : 0);
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
  bool anywhere = storage_offset != Py_None;
  if (anywhere != (size != Py_None) || (anywhere && !PyIndex_Check(storage_offset)) ||
      (anywhere && !PySequence_Check(size)))
    refuse_set(source);
  const bool stored = is_storage(source);
  if (!stored && !is_tensor(source)) refuse_set(source);
  TensorPtr from = stored ? from_storage(input, source) : TensorPtr::borrow(as_tensor(source));
  if (from->dtype != input->dtype)
    fail("Could not set tensor of type ", info(from->dtype).c_name, " to a tensor of type ", info(input->dtype).c_name,
         "; convert it first");
  check_storage_device(input, from->device);
  TensorPtr geometry = from;
  if (anywhere) {
    if (!from->contiguous()) fail("passed in tensor to be used as storage must be contiguous; call contiguous() first");
    Ints sizes = Arg{size, "set_", "size"};
    Ints strides;
    if (stride != Py_None) {
      strides = Arg{stride, "set_", "stride"};
    } else {
      checked_numel(sizes);
      const ShapePtr dense = make_shape(sizes);
      for (int64_t step : dense->stride_span()) strides.push(step, "set_");
    }
    // It counts from the source's first element, whatever its name says.
    const int64_t offset = Arg{storage_offset, "set_", "storage_offset"};
    geometry = placed(from.get(), sizes, strides, offset);
  }
  set_source(input, from.get(), geometry.get());
  if (stored) {
    from.reset();
    geometry.reset();
    keep_object(input->storage);
  }
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
