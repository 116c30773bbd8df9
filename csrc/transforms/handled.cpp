#include "transforms/handled.h"

#include "op/object.h"

namespace adjoint {

Object Handled::handle(Op& op, PyObject* const* slots, bool in_place) {
  if (!in_place) {
    if (Object result = call_parts(op, slots)) return result;
  }
  Op& chosen = in_place ? op.variant(slots) : op.chosen(slots);
  Object arguments = checked(PyTuple_New(chosen.count));
  for (int i = 0; i < chosen.count; ++i) PyTuple_SET_ITEM(arguments.get(), i, Py_NewRef(slots[i]));
  return checked(call_python(handler_.get(), op_object_of(chosen), arguments.get(), in_place ? Py_True : Py_False));
}

}  // namespace adjoint
