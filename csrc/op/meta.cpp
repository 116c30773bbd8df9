#include "op/meta.h"

#include <algorithm>

namespace adjoint {

template <class F>
static bool any_item(PyObject* sequence, F holds) {
  const Py_ssize_t size = PySequence_Fast_GET_SIZE(sequence);
  PyObject** items = PySequence_Fast_ITEMS(sequence);
  if (size == 0 || PyLong_CheckExact(items[0])) return false;  // sizes and dimensions
  return std::any_of(items, items + size, holds);
}

bool has_special_item(PyObject* sequence) {
  return any_item(sequence, [](PyObject* item) { return is_special(item); });
}

template <class F>
static bool any_argument(PyObject* const* slots, size_t n, F holds) {
  return std::any_of(slots, slots + n,
                     [&](PyObject* slot) { return is_sequence(slot) ? any_item(slot, holds) : holds(slot); });
}

bool any_elsewhere(PyObject* const* slots, size_t n) { return any_argument(slots, n, is_elsewhere); }
bool any_on_meta(PyObject* const* slots, size_t n) { return any_argument(slots, n, holds_no_values); }

bool any_on_device(PyObject* const* slots, size_t n) {
  return any_argument(slots, n, [](PyObject* object) {
    return is_elsewhere(object) && as_tensor(object)->device.type < DeviceType::Batched;
  });
}

bool has_no_shape(PyObject* object) {
  return holds_no_values(object) && Py_TYPE(object) != tensor_type &&
         PyObject_HasAttrString(reinterpret_cast<PyObject*>(Py_TYPE(object)), "is_uninitialized") == 1;
}

void refuse_without_shape(std::string_view op, PyObject* object) {
  const auto refuse = [op](PyObject* tensor) {
    if (!has_no_shape(tensor)) return;
    fail(ErrorKind::Value, "Attempted to use an uninitialized parameter in ", op,
         ". This error happens when you are using a `LazyModule` or explicitly manipulating "
         "`torch.nn.parameter.UninitializedParameter` objects. When using LazyModules Call `forward` with a dummy "
         "batch to initialize the parameters before calling torch functions");
  };
  if (!is_sequence(object)) return refuse(object);
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) refuse(PySequence_Fast_GET_ITEM(object, i));
}

}  // namespace adjoint
