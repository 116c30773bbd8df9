// torch.memory_format and torch.layout as Python types.
#include "python/formats.h"

#include <cstring>

namespace adjoint::python {
namespace {

/// An object that is nothing but its name; pickled and copied as the module's attribute of that name.
struct NamedObject {
  PyObject_HEAD
  const char* name;
  int value;
};

PyTypeObject* format_type;
PyTypeObject* layout_type;
PyObject* contiguous_format_object;
PyObject* strided_object;

const NamedObject* named(PyObject* self) { return reinterpret_cast<NamedObject*>(self); }
PyObject* repr(PyObject* self) { return PyUnicode_FromFormat("torch.%s", named(self)->name); }
PyObject* reduce(PyObject* self, PyObject*) { return PyUnicode_FromString(named(self)->name); }

PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
PyType_Slot slots[] = {{Py_tp_repr, reinterpret_cast<void*>(repr)}, {Py_tp_methods, methods}, {0, nullptr}};

PyTypeObject* add_type(PyObject* module, const char* full_name, std::initializer_list<const char*> names) {
  PyType_Spec spec = {full_name, sizeof(NamedObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  auto* type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)).take());
  check(PyModule_AddObjectRef(module, std::strchr(full_name, '.') + 1, reinterpret_cast<PyObject*>(type)) == 0);
  int value = 0;
  for (const char* name : names) {
    auto* object = PyObject_New(NamedObject, type);
    check(object != nullptr);
    object->name = name;
    object->value = value++;
    Object owned = Object::steal(reinterpret_cast<PyObject*>(object));
    check(PyModule_AddObjectRef(module, name, owned.get()) == 0);
  }
  return type;
}

}  // namespace

std::optional<MemoryFormat> to_memory_format(PyObject* object) {
  if (Py_TYPE(object) != format_type) return std::nullopt;
  return static_cast<MemoryFormat>(named(object)->value);
}
PyObject* contiguous_format() { return contiguous_format_object; }
PyObject* strided_layout() { return strided_object; }
bool is_layout(PyObject* object) { return Py_TYPE(object) == layout_type; }
bool is_strided(PyObject* layout) { return named(layout)->value == 0; }

void init_formats(PyObject* module) {
  format_type = add_type(module, "adjoint.memory_format",
                         {"contiguous_format", "preserve_format", "channels_last", "channels_last_3d"});
  contiguous_format_object = checked(PyObject_GetAttrString(module, "contiguous_format")).take();
  layout_type = add_type(module, "adjoint.layout", {"strided", "sparse_coo", "sparse_csr"});
  strided_object = checked(PyObject_GetAttrString(module, "strided")).take();
}

}  // namespace adjoint::python
