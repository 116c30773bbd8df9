// Arguments that hold no values: tensors on the meta device, and parameters without a shape.
#pragma once

#include <algorithm>
#include <string_view>

#include "op/op.h"

namespace adjoint {

inline bool holds_no_values(PyObject* object) {
  // Numbers, None and their like, which most arguments are, have static types; tensors do not.
  return (Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE) && is_tensor(object) &&
         as_tensor(object)->device == DeviceType::Meta;
}

/// Whether this is a parameter or buffer of a lazy module before its first call: these are kept on the meta device, so
/// that nothing but what leaves the fast path for it has to ask.
bool has_no_shape(PyObject* object);
/// Raises torch's error for one of these, also among the items of a sequence.
void refuse_without_shape(std::string_view op, PyObject* object);

/// Whether one of an op's arguments, or of the items of a list among them, is on the meta device.
inline bool any_on_meta(PyObject* const* slots, size_t n) {
  return std::any_of(slots, slots + n, [](PyObject* object) {
    if (!is_sequence(object) || PySequence_Fast_GET_SIZE(object) == 0) return holds_no_values(object);
    PyObject** items = PySequence_Fast_ITEMS(object);
    if (PyLong_CheckExact(items[0])) return false;  // sizes and dimensions
    return std::any_of(items, items + PySequence_Fast_GET_SIZE(object), holds_no_values);
  });
}

}  // namespace adjoint
