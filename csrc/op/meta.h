// Arguments whose values the program cannot read: tensors on the meta device and elsewhere, and parameters without a
// shape; and how few ops meet one of these, or one of a stored type.
#pragma once

#include <string_view>

#include "op/op.h"
#include "types/types.h"

namespace adjoint {

inline bool holds_no_values(PyObject* object) {
  return is_tensor(object) && as_tensor(object)->device == DeviceType::Meta;
}

/// Whether a tensor is not in the program's memory: on the meta device, under vmap or sparse.
inline bool is_elsewhere(PyObject* object) {
  return is_tensor(object) && as_tensor(object)->device.type != DeviceType::Cpu;
}

/// Whether this is such a tensor, or one of a stored type, or a stored type.
inline bool is_special(PyObject* object) {
  if (!is_tensor(object)) return is_dtype(object) && is_stored(to_dtype(object));
  return is_special(as_tensor(object));
}
/// Whether one of the items of a tuple or list is.
bool has_special_item(PyObject* sequence);

/// Whether this is a parameter or buffer of a lazy module before its first call: these are kept on the meta device, so
/// that nothing but what leaves the fast path for it has to ask.
bool has_no_shape(PyObject* object);
/// Raises torch's error for one of these, also among the items of a sequence.
void refuse_without_shape(std::string_view op, PyObject* object);

/// Whether one of an op's arguments, or of the items of a list among them, is not in the program's memory.
bool any_elsewhere(PyObject* const* slots, size_t n);
/// Whether one of them is on the meta device.
bool any_on_meta(PyObject* const* slots, size_t n);
/// Whether one of them is on the meta device, or on a GPU.
bool any_on_device(PyObject* const* slots, size_t n);
/// Whether one of them is special.
inline bool any_special(PyObject* const* slots, size_t n) {
  // Numbers, None and their like, which most arguments are, have static types; tensors do not.
  constexpr auto flags = Py_TPFLAGS_HEAPTYPE | Py_TPFLAGS_TUPLE_SUBCLASS | Py_TPFLAGS_LIST_SUBCLASS;
  for (PyObject* const* slot = slots; slot < slots + n; ++slot)
    if ((Py_TYPE(*slot)->tp_flags & flags) && (is_sequence(*slot) ? has_special_item(*slot) : is_special(*slot)))
      return true;
  return false;
}

}  // namespace adjoint
