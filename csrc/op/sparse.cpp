#include "op/sparse.h"

#include <algorithm>

#include "core/mode.h"
#include "core/tangent.h"
#include "op/overrides.h"
#include "tape/history.h"

namespace adjoint {
namespace {

bool is_one(PyObject* object) { return is_tensor(object) && is_sparse(as_tensor(object)); }

/// A name of the room of the handlers, which is imported when it is first needed.
Object handlers(const char* name) {
  Object room = checked(in_python([] { return PyImport_ImportModule("adjoint.sparse._calls"); }));
  return checked(PyObject_GetAttrString(room.get(), name));
}

/// Refuses tangents, which a handler that computes alone would lose.
void check_tangents(const Op& op, PyObject* const* slots) {
  if (!(mode_flags & kFunctional)) return;
  for (size_t i = 0; i < op.arguments.size(); ++i)
    if (is_tensor(slots[i]) && has_tangents(as_tensor(slots[i]))) refuse_sparse_tangent(op.shown.c_str());
}

/// entry(name, shown, arguments).
Object hand_over(PyObject* entry, const Op& op, const std::string& shown, PyObject* const* slots) {
  const auto n = static_cast<Py_ssize_t>(op.arguments.size());
  Object args = checked(PyTuple_New(n));
  for (Py_ssize_t i = 0; i < n; ++i) PyTuple_SET_ITEM(args.get(), i, Py_NewRef(slots[i]));
  Object name = checked(PyUnicode_FromString(op.name.c_str())), words = checked(PyUnicode_FromString(shown.c_str()));
  OverridesOff plain_ops(true);
  return checked(call_python(entry, name.get(), words.get(), args.get()));
}

}  // namespace

bool any_sparse(PyObject* const* slots, size_t n) {
  return std::any_of(slots, slots + n, [](PyObject* object) {
    if (!is_sequence(object)) return is_one(object);
    PyObject** items = PySequence_Fast_ITEMS(object);
    return std::any_of(items, items + PySequence_Fast_GET_SIZE(object), is_one);
  });
}

Object call_sparse(const Op& op, PyObject* const* slots) {
  static PyObject* entry = handlers("call").take();
  static PyObject* ruled = handlers("RULED").take();
  if (!PyDict_GetItemString(ruled, op.name.c_str())) return hand_over(entry, op, op.shown, slots);
  check_tangents(op, slots);
  PyObject* plain[kMaxArguments];
  Object owned[kMaxArguments];
  for (size_t i = 0; i < op.arguments.size(); ++i) {
    plain[i] = slots[i];
    if (!is_tensor(slots[i]) || !requires_grad(as_tensor(slots[i]))) continue;
    owned[i] = wrap(alias(as_tensor(slots[i])));
    plain[i] = owned[i].get();
  }
  Object result = hand_over(entry, op, op.shown, plain);
  if (!is_tensor(result.get())) return result;
  if (result.get() == plain[0]) return Object::borrow(slots[0]);
  Tensor* output = as_tensor(result.get());
  op.record_results(slots, &output, 1);
  return result;
}

void change_sparse(const Op& op, PyObject* const* slots) {
  static PyObject* entry = handlers("change").take();
  check_tangents(op, slots);
  hand_over(entry, op, op.shown_in_place, slots);
}

PyObject* sparse_composite(PyObject* name) {
  static PyObject* table = handlers("CALLS").take();
  PyObject* handler = PyDict_GetItemWithError(table, name);
  check(handler || !PyErr_Occurred());
  return handler;
}

Object handle_sparse(const char* name, std::initializer_list<PyObject*> args) {
  Object handler = handlers(name);
  OverridesOff plain_ops(true);
  return checked(call_python(handler.get(), args.begin(), args.size(), nullptr));
}

}  // namespace adjoint
