#include "types/struct_sequence.h"

#include <vector>

#include "core/error.h"

namespace adjoint {

Object make_struct_sequence(PyObject* name, PyObject* fields) {
  if (!PyUnicode_Check(name) || !PyTuple_Check(fields))
    fail(ErrorKind::Type, "_struct_sequence: expected a name and a tuple of names");
  std::vector<PyStructSequence_Field> members;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(fields); ++i) {
    const char* field = PyUnicode_AsUTF8(PyTuple_GET_ITEM(fields, i));
    check(field != nullptr);
    members.push_back({field, nullptr});
  }
  auto count = static_cast<int>(members.size());
  members.push_back({nullptr, nullptr});
  PyStructSequence_Desc description = {PyUnicode_AsUTF8(name), nullptr, members.data(), count};
  check(description.name != nullptr);
  Object type = checked(reinterpret_cast<PyObject*>(PyStructSequence_NewType(&description)));
  Py_INCREF(fields);  // whose characters the type goes on using
  return type;
}

Object struct_sequence_of(PyObject* type, PyObject* values) {
  Object result = checked(PyStructSequence_New(reinterpret_cast<PyTypeObject*>(type)));
  Py_ssize_t count = PyTuple_GET_SIZE(values);
  if (count != Py_SIZE(result.get()))
    fail(ErrorKind::Type, reinterpret_cast<PyTypeObject*>(type)->tp_name, ": expected ", Py_SIZE(result.get()),
         " values; got ", count);
  for (Py_ssize_t i = 0; i < count; ++i)
    PyStructSequence_SET_ITEM(result.get(), i, Py_NewRef(PyTuple_GET_ITEM(values, i)));
  return result;
}

}  // namespace adjoint
