#include "python/types.h"

#include <cstring>

#include "kernels/view.h"

namespace adjoint::python {
namespace {

struct DTypeObject {
  PyObject_HEAD
  DType dtype;
};
struct DeviceObject {
  PyObject_HEAD
  DeviceType type;
  int index;  ///< -1: none given
};

PyObject* dtype_objects[kDTypeCount];
PyTypeObject* dtype_type;
PyTypeObject* device_type;
PyTypeObject* size_type;
PyObject* cpu_device;
PyObject* meta_device;

PyObject* dtype_repr(PyObject* self) {
  return PyUnicode_FromFormat("torch.%s", info(reinterpret_cast<DTypeObject*>(self)->dtype).name);
}
PyObject* dtype_reduce(PyObject* self, PyObject*) {
  return PyUnicode_FromString(info(reinterpret_cast<DTypeObject*>(self)->dtype).name);
}
PyObject* dtype_is_floating(PyObject* self, void*) {
  return PyBool_FromLong(is_float(reinterpret_cast<DTypeObject*>(self)->dtype));
}
PyObject* dtype_is_complex(PyObject* self, void*) {
  return PyBool_FromLong(is_complex(reinterpret_cast<DTypeObject*>(self)->dtype));
}
PyObject* dtype_is_signed(PyObject* self, void*) {
  DType dtype = reinterpret_cast<DTypeObject*>(self)->dtype;
  return PyBool_FromLong(dtype != DType::UInt8 && dtype != DType::Bool);
}
PyObject* dtype_itemsize(PyObject* self, void*) {
  return PyLong_FromLongLong(itemsize(reinterpret_cast<DTypeObject*>(self)->dtype));
}
PyObject* dtype_to_real(PyObject* self, PyObject*) {
  return Py_NewRef(dtype_object(real_type(reinterpret_cast<DTypeObject*>(self)->dtype)));
}
PyObject* dtype_to_complex(PyObject* self, PyObject*) {
  return Py_NewRef(dtype_object(complex_type(reinterpret_cast<DTypeObject*>(self)->dtype)));
}

PyMethodDef dtype_methods[] = {{"__reduce__", dtype_reduce, METH_NOARGS, nullptr},
                               {"to_real", dtype_to_real, METH_NOARGS, "The real type of the same precision."},
                               {"to_complex", dtype_to_complex, METH_NOARGS, "The complex type of the same precision."},
                               {nullptr, nullptr, 0, nullptr}};
PyGetSetDef dtype_getset[] = {{"is_floating_point", dtype_is_floating, nullptr, nullptr, nullptr},
                              {"is_complex", dtype_is_complex, nullptr, nullptr, nullptr},
                              {"is_signed", dtype_is_signed, nullptr, nullptr, nullptr},
                              {"itemsize", dtype_itemsize, nullptr, nullptr, nullptr},
                              {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot dtype_slots[] = {{Py_tp_repr, reinterpret_cast<void*>(dtype_repr)},
                             {Py_tp_methods, dtype_methods},
                             {Py_tp_getset, dtype_getset},
                             {Py_tp_doc, const_cast<char*>("The type of a tensor's elements.")},
                             {0, nullptr}};
PyType_Spec dtype_spec = {"adjoint.dtype", sizeof(DTypeObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, dtype_slots};

PyObject* size_repr(PyObject* self) {
  std::string text = "torch.Size([";
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self); ++i) {
    if (i) text += ", ";
    Object item = Object::steal(PyObject_Repr(PyTuple_GET_ITEM(self, i)));
    const char* utf8 = item ? PyUnicode_AsUTF8(item.get()) : nullptr;
    if (!utf8) return nullptr;
    text += utf8;
  }
  return PyUnicode_FromString((text + "])").c_str());
}
PyObject* size_numel(PyObject* self, PyObject*) {
  Object product = Object::steal(PyLong_FromLong(1));
  for (Py_ssize_t i = 0; product && i < PyTuple_GET_SIZE(self); ++i)
    product = Object::steal(PyNumber_Multiply(product.get(), PyTuple_GET_ITEM(self, i)));
  return product.take();
}
/// Slices and sums of Sizes are Sizes.
PyObject* as_size(PyObject* tuple) {
  if (!tuple || !PyTuple_CheckExact(tuple)) return tuple;
  Object owned = Object::steal(tuple);
  Py_ssize_t n = PyTuple_GET_SIZE(tuple);
  PyObject* size = size_type->tp_alloc(size_type, n);
  for (Py_ssize_t i = 0; size && i < n; ++i) PyTuple_SET_ITEM(size, i, Py_NewRef(PyTuple_GET_ITEM(tuple, i)));
  return size;
}
PyObject* size_subscript(PyObject* self, PyObject* key) {
  return as_size(PyTuple_Type.tp_as_mapping->mp_subscript(self, key));
}
PyObject* size_concat(PyObject* a, PyObject* b) { return as_size(PyTuple_Type.tp_as_sequence->sq_concat(a, b)); }
PyObject* size_reduce(PyObject* self, PyObject*) {
  Object plain = Object::steal(PySequence_List(self));
  return plain ? Py_BuildValue("(O(O))", size_type, plain.get()) : nullptr;
}

PyMethodDef size_methods[] = {{"numel", size_numel, METH_NOARGS, "The number of elements of a tensor of this size."},
                              {"__reduce__", size_reduce, METH_NOARGS, nullptr},
                              {nullptr, nullptr, 0, nullptr}};
PyType_Slot size_slots[] = {{Py_tp_repr, reinterpret_cast<void*>(size_repr)},
                            {Py_tp_methods, size_methods},
                            {Py_mp_subscript, reinterpret_cast<void*>(size_subscript)},
                            {Py_sq_concat, reinterpret_cast<void*>(size_concat)},
                            {Py_tp_doc, const_cast<char*>("The sizes of a tensor: a tuple of ints.")},
                            {0, nullptr}};
PyType_Spec size_spec = {"adjoint.Size", 0, 0, Py_TPFLAGS_DEFAULT, size_slots};

PyObject* new_device(DeviceType type, int index) {
  auto* device = PyObject_New(DeviceObject, device_type);
  if (!device) return nullptr;
  device->type = type;
  device->index = index;
  return reinterpret_cast<PyObject*>(device);
}

PyObject* device_repr(PyObject* self) {
  auto* device = reinterpret_cast<DeviceObject*>(self);
  if (device->index >= 0)
    return PyUnicode_FromFormat("device(type='%s', index=%d)", device_name(device->type), device->index);
  return PyUnicode_FromFormat("device(type='%s')", device_name(device->type));
}
PyObject* device_str(PyObject* self) {
  auto* device = reinterpret_cast<DeviceObject*>(self);
  if (device->index >= 0) return PyUnicode_FromFormat("%s:%d", device_name(device->type), device->index);
  return PyUnicode_FromString(device_name(device->type));
}
PyObject* device_get_type(PyObject* self, void*) {
  return PyUnicode_FromString(device_name(reinterpret_cast<DeviceObject*>(self)->type));
}
PyObject* device_get_index(PyObject* self, void*) {
  int index = reinterpret_cast<DeviceObject*>(self)->index;
  if (index < 0) Py_RETURN_NONE;
  return PyLong_FromLong(index);
}
Py_hash_t device_hash(PyObject* self) {
  auto* device = reinterpret_cast<DeviceObject*>(self);
  return static_cast<int>(device->type) * 1009 + device->index + 7;
}
PyObject* device_compare(PyObject* a, PyObject* b, int op) {
  if (!PyObject_TypeCheck(b, device_type) || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  auto *x = reinterpret_cast<DeviceObject*>(a), *y = reinterpret_cast<DeviceObject*>(b);
  bool equal = x->type == y->type && x->index == y->index;
  return PyBool_FromLong(equal == (op == Py_EQ));
}

/// Parses "cpu" or "cpu:0".
void parse_device(const char* text, DeviceType* type, int* index) {
  const char* colon = std::strchr(text, ':');
  std::string kind(text, colon ? static_cast<size_t>(colon - text) : std::strlen(text));
  *index = -1;
  if (colon) {
    char* end = nullptr;
    long value = std::strtol(colon + 1, &end, 10);
    if (end == colon + 1 || *end || value < 0 || value > 127) fail("Invalid device string: '", text, "'");
    *index = static_cast<int>(value);
  }
  if (kind == "cpu") {
    *type = DeviceType::Cpu;
  } else if (kind == "meta") {
    *type = DeviceType::Meta;
  } else {
    fail("Expected one of cpu, meta device type at start of device string: ", text,
         "; this build has no other device, use device='cpu'");
  }
}

PyObject* device_new(PyTypeObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"type", "index", nullptr};
    PyObject* source = nullptr;
    PyObject* number = Py_None;
    check(PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:device", const_cast<char**>(names), &source, &number));
    if (PyObject_TypeCheck(source, device_type)) return Py_NewRef(source);
    DeviceType type;
    int index;
    if (!PyUnicode_Check(source))
      fail(ErrorKind::Type, "device(): argument 'type' must be str or device, not ", Py_TYPE(source)->tp_name);
    const char* text = PyUnicode_AsUTF8(source);
    check(text != nullptr);
    parse_device(text, &type, &index);
    if (number != Py_None) {
      if (index >= 0) fail("type (string) must not include an index because index was passed explicitly: ", text);
      index = static_cast<int>(PyLong_AsLong(number));
      check(!PyErr_Occurred());
      if (index < 0) fail("Device index must not be negative");
    }
    return new_device(type, index);
  });
}
PyObject* device_reduce(PyObject* self, PyObject*) {
  Object text = Object::steal(device_str(self));
  return text ? Py_BuildValue("(O(O))", device_type, text.get()) : nullptr;
}

PyMethodDef device_methods[] = {{"__reduce__", device_reduce, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
PyGetSetDef device_getset[] = {{"type", device_get_type, nullptr, nullptr, nullptr},
                               {"index", device_get_index, nullptr, nullptr, nullptr},
                               {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot device_slots[] = {{Py_tp_repr, reinterpret_cast<void*>(device_repr)},
                              {Py_tp_str, reinterpret_cast<void*>(device_str)},
                              {Py_tp_hash, reinterpret_cast<void*>(device_hash)},
                              {Py_tp_richcompare, reinterpret_cast<void*>(device_compare)},
                              {Py_tp_new, reinterpret_cast<void*>(device_new)},
                              {Py_tp_methods, device_methods},
                              {Py_tp_getset, device_getset},
                              {Py_tp_doc, const_cast<char*>("Where a tensor's memory lies: torch.device('cpu').")},
                              {0, nullptr}};
PyType_Spec device_spec = {"adjoint.device", sizeof(DeviceObject), 0, Py_TPFLAGS_DEFAULT, device_slots};

PyTypeObject* make_type(PyObject* module, PyType_Spec* spec, const char* name, PyObject* base = nullptr) {
  Object bases = base ? checked(PyTuple_Pack(1, base)) : Object();
  Object type = checked(PyType_FromSpecWithBases(spec, bases.get()));
  check(PyModule_AddObjectRef(module, name, type.get()) == 0);
  return reinterpret_cast<PyTypeObject*>(type.take());
}

}  // namespace

PyObject* dtype_object(DType dtype) { return dtype_objects[static_cast<int>(dtype)]; }
bool is_dtype(PyObject* object) { return Py_TYPE(object) == dtype_type; }

DType to_dtype(PyObject* object) {
  if (is_dtype(object)) return reinterpret_cast<DTypeObject*>(object)->dtype;
  if (object == reinterpret_cast<PyObject*>(&PyFloat_Type)) return DType::Float64;
  if (object == reinterpret_cast<PyObject*>(&PyBool_Type)) return DType::Bool;
  if (object == reinterpret_cast<PyObject*>(&PyLong_Type)) return DType::Int64;
  if (object == reinterpret_cast<PyObject*>(&PyComplex_Type)) return DType::Complex128;
  fail(ErrorKind::Type, "dtype must be a torch.dtype, not ", Py_TYPE(object)->tp_name);
}

Object make_size(Sizes sizes) {
  Object size = checked(size_type->tp_alloc(size_type, static_cast<Py_ssize_t>(sizes.size())));
  for (size_t i = 0; i < sizes.size(); ++i)
    PyTuple_SET_ITEM(size.get(), i, checked(PyLong_FromLongLong(sizes[i])).take());
  return size;
}

Object make_tuple(Sizes values) {
  Object tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(values.size())));
  for (size_t i = 0; i < values.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), i, checked(PyLong_FromLongLong(values[i])).take());
  return tuple;
}

PyObject* device_object(DeviceType device) { return device == DeviceType::Cpu ? cpu_device : meta_device; }

DeviceType to_device(PyObject* object) {
  if (PyObject_TypeCheck(object, device_type)) return reinterpret_cast<DeviceObject*>(object)->type;
  if (!PyUnicode_Check(object))
    fail(ErrorKind::Type, "device must be a torch.device or str, not ", Py_TYPE(object)->tp_name);
  const char* text = PyUnicode_AsUTF8(object);
  check(text != nullptr);
  DeviceType type;
  int index;
  parse_device(text, &type, &index);
  return type;
}

void init_types(PyObject* module) {
  dtype_type = make_type(module, &dtype_spec, "dtype");
  size_type = make_type(module, &size_spec, "Size", reinterpret_cast<PyObject*>(&PyTuple_Type));
  device_type = make_type(module, &device_spec, "device");
  for (int i = 0; i < kDTypeCount; ++i) {
    auto* object = PyObject_New(DTypeObject, dtype_type);
    check(object != nullptr);
    object->dtype = static_cast<DType>(i);
    dtype_objects[i] = reinterpret_cast<PyObject*>(object);
    check(PyModule_AddObjectRef(module, kDTypes[i].name, dtype_objects[i]) == 0);
  }
  cpu_device = new_device(DeviceType::Cpu, -1);
  meta_device = new_device(DeviceType::Meta, -1);
  check(cpu_device && meta_device);
}

}  // namespace adjoint::python
