// torch.memory_format and torch.layout as Python types.
#include "types/formats.h"

#include <algorithm>
#include <cstring>

#include "core/help.h"

namespace adjoint {
namespace {

/// An object that is nothing but its name; pickled and copied as the module's attribute of that name.
struct NamedObject {
  PyObject_HEAD
  const char* name;
  int value;
};

PyTypeObject* format_type;
PyTypeObject* layout_type;
PyObject* format_objects[4];
PyObject* layout_objects[7];
/// The layout of nested tensors, which are not here: what is made with it is strided, as in torch.
constexpr int kJagged = 6;

const NamedObject* named(PyObject* self) { return reinterpret_cast<NamedObject*>(self); }
PyObject* repr(PyObject* self) { return PyUnicode_FromFormat("torch.%s", named(self)->name); }
PyObject* reduce(PyObject* self, PyObject*) { return PyUnicode_FromString(named(self)->name); }

PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};

/// _channels_last(*tensors): whether torch takes one of them to have its channels last. Rules ask for the layout of a
/// gradient.
PyObject* any_channels_last(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  bool last = std::any_of(args, args + nargs, [](PyObject* object) {
    return is_tensor(object) && suggested_format(as_tensor(object)->shape) != MemoryFormat::Contiguous;
  });
  return PyBool_FromLong(last);
}

PyMethodDef functions[] = {{"_channels_last", as_method(any_channels_last), METH_FASTCALL,
                            "_channels_last(*tensors): whether one of them has its channels last."},
                           {nullptr, nullptr, 0, nullptr}};

PyTypeObject* add_type(PyObject* module, const char* full_name, const char* doc,
                       std::initializer_list<const char*> names) {
  PyType_Slot slots[] = {{Py_tp_repr, reinterpret_cast<void*>(repr)},
                         {Py_tp_methods, methods},
                         {Py_tp_doc, const_cast<char*>(doc)},
                         {0, nullptr}};
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
PyObject* format_object(MemoryFormat format) { return format_objects[static_cast<int>(format)]; }
PyObject* layout_object(Layout layout) { return layout_objects[static_cast<int>(layout)]; }
Layout to_layout(PyObject* object) {
  if (!is_layout(object)) fail(ErrorKind::Type, "expected a torch.layout, got ", Py_TYPE(object)->tp_name);
  if (named(object)->value == kJagged) fail("expected the layout of a strided or sparse tensor, got torch.jagged");
  return static_cast<Layout>(named(object)->value);
}
bool is_layout(PyObject* object) { return Py_TYPE(object) == layout_type; }
bool is_strided(PyObject* layout) { return named(layout)->value == 0 || named(layout)->value == kJagged; }

void init_formats(PyObject* module) {
  auto names = {"contiguous_format", "preserve_format", "channels_last", "channels_last_3d"};
  format_type = add_type(module, "adjoint.memory_format", help::kMemoryFormat, names);
  int value = 0;
  for (const char* name : names) format_objects[value++] = checked(PyObject_GetAttrString(module, name)).take();
  auto layouts = {"strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged"};
  layout_type = add_type(module, "adjoint.layout", help::kLayout, layouts);
  value = 0;
  for (const char* name : layouts) layout_objects[value++] = checked(PyObject_GetAttrString(module, name)).take();
  check(PyModule_AddFunctions(module, functions) == 0);
}

}  // namespace adjoint
