// Arguments whose values the program cannot read: tensors on the meta device and elsewhere, and parameters without a
// shape.
#pragma once

#include <string_view>

#include "op/op.h"

namespace adjoint {

inline bool holds_no_values(PyObject* object) {
  return is_tensor(object) && as_tensor(object)->device == DeviceType::Meta;
}

/// Whether a tensor is not in the program's memory: on the meta device, under vmap or sparse.
inline bool is_elsewhere(PyObject* object) {
  return is_tensor(object) && as_tensor(object)->device.type != DeviceType::Cpu;
}

/// Whether one of the items of a tuple or list is.
bool has_one_elsewhere(PyObject* sequence);

/// Whether this is a parameter or buffer of a lazy module before its first call: these are kept on the meta device, so
/// that nothing but what leaves the fast path for it has to ask.
bool has_no_shape(PyObject* object);
/// Raises torch's error for one of these, also among the items of a sequence.
void refuse_without_shape(std::string_view op, PyObject* object);

/// Whether one of an op's arguments, or of the items of a list among them, is.
inline bool any_elsewhere(PyObject* const* slots, size_t n) {
  // Numbers, None and their like, which most arguments are, have static types; tensors do not.
  constexpr auto flags = Py_TPFLAGS_HEAPTYPE | Py_TPFLAGS_TUPLE_SUBCLASS | Py_TPFLAGS_LIST_SUBCLASS;
  for (PyObject* const* slot = slots; slot < slots + n; ++slot)
    if ((Py_TYPE(*slot)->tp_flags & flags) && (is_sequence(*slot) ? has_one_elsewhere(*slot) : is_elsewhere(*slot)))
      return true;
  return false;
}

}  // namespace adjoint
