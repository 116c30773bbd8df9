// The keywords of functions that make tensors, read once for all of them.
#pragma once

#include "core/guard.h"
#include "ops/creation.h"
#include "types/types.h"

namespace adjoint {

/// The slots of these keywords, counted from the first; they are the last arguments of an op, see `creates` in
/// src/adjoint/ops/declaration.py.
enum CreationSlot { kDType, kLayout, kDevice, kPinMemory, kRequiresGradSlot, kOut, kCreationSlots };

/// Reads them; `count` is one less where there is no out=. `model`: the tensor on whose device the new one goes unless
/// another is given, or null.
ops::CreationOptions read_given_creation(const char* op, PyObject* const* slots, size_t count, PyObject* model);
inline ops::CreationOptions read_creation(const char* op, PyObject* const* slots, size_t count, PyObject* model) {
  const bool none_given = slots[kDType] == Py_None && slots[kLayout] == Py_None && slots[kDevice] == Py_None &&
                          slots[kPinMemory] == Py_False && slots[kRequiresGradSlot] == Py_False &&
                          (count < kCreationSlots || slots[kOut] == Py_None);
  const bool plain_model = !model || (Py_TYPE(model) == tensor_type && as_tensor(model)->device == DeviceType::Cpu);
  if (!none_given || !plain_model) [[unlikely]]
    return read_given_creation(op, slots, count, model);
  return {.dtype = {}, .device = model ? Device() : default_device()};
}

/// Refuses to pin memory where there is no GPU, or that is not the program's.
void check_pinned(Device device);
/// Refuses an out= that could not take the result, before numbers are drawn for it.
void check_creation_out(const char* op, PyObject* const* slots, PyObject* out);

}  // namespace adjoint
