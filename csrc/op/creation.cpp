#include "op/creation.h"

#include "op/arg.h"
#include "op/meta.h"
#include "tape/history.h"
#include "types/formats.h"
#include "types/types.h"

namespace adjoint {
namespace {

void check_layout(const Arg& layout) {
  if (!is_layout(layout.object)) layout.wrong_type("torch.layout");
  if (is_strided(layout.object)) return;
  Object shown = checked(PyObject_Str(layout.object));
  fail(layout.op, "(): only the layout torch.strided is supported; got ", PyUnicode_AsUTF8(shown.get()),
       "; leave layout out");
}

}  // namespace

void check_pinned(Device device) {
  if (!kind_of(DeviceType::Cuda).why_absent().empty())
    fail("pin_memory=True requires a CUDA or other accelerator backend; there is none, leave pin_memory out");
  if (device != DeviceType::Cpu)
    fail("Only dense CPU tensors can be pinned; got pin_memory=True on ", to_string(device));
}

ops::CreationOptions read_given_creation(const char* op, PyObject* const* slots, size_t count, PyObject* model) {
  ops::CreationOptions options;
  if (slots[kDType] != Py_None) options.dtype = static_cast<DType>(Arg{slots[kDType], op, "dtype"});
  if (slots[kLayout] != Py_None) check_layout({slots[kLayout], op, "layout"});
  if (slots[kDevice] != Py_None) {
    options.device = static_cast<Device>(Arg{slots[kDevice], op, "device"});
  } else if (model && is_tensor(model)) {
    refuse_without_shape(op, model);
    options.device = as_tensor(model)->device;
  } else {
    options.device = default_device();
  }
  auto flag = [&](CreationSlot slot, const char* name) {
    return slots[slot] != Py_False && slots[slot] != Py_None && static_cast<bool>(Arg{slots[slot], op, name});
  };
  if (flag(kPinMemory, "pin_memory")) check_pinned(options.device);
  options.leaf = flag(kRequiresGradSlot, "requires_grad");
  if (count == kCreationSlots && slots[kOut] != Py_None)
    options.out = static_cast<Tensor*>(Arg{slots[kOut], op, "out"});
  return options;
}

void check_creation_out(const char* op, PyObject* const* slots, PyObject* out) {
  const Tensor* tensor = Arg{out, op, "out"};
  if (slots[kDType] != Py_None) {
    DType dtype = Arg{slots[kDType], op, "dtype"};
    if (dtype != tensor->dtype)
      fail("dtype ", info(dtype).legacy_name, " does not match dtype of out parameter (",
           info(tensor->dtype).legacy_name, ")");
  }
  if (tensor->device == DeviceType::Meta) fail(op, "(): out= is on the meta device, which holds no values");
  check_writable(tensor);
}

}  // namespace adjoint
