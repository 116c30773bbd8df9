#include "types/types.h"

#include <string_view>

#include "core/help.h"
#include "core/view.h"
#include "types/storage.h"

namespace adjoint {
namespace {

/// What a dtype object stands for.
struct DTypeObject {
  PyObject_HEAD
  const DTypeInfo* about;
  bool is_signed;
};

/// Types that can be named, as in tables of programs, but that no tensor has: quantized and packed numbers.
constexpr DTypeInfo kNamedOnly[] = {
    {"quint8", "QUInt8", "c10::quint8", 1, Category::Integer},
    {"qint8", "QInt8", "c10::qint8", 1, Category::Integer},
    {"qint32", "QInt32", "c10::qint32", 4, Category::Integer},
    {"quint4x2", "QUInt4x2", "c10::quint4x2", 1, Category::Integer},
    {"quint2x4", "QUInt2x4", "c10::quint2x4", 1, Category::Integer},
    {"float4_e2m1fn_x2", "Float4_e2m1fn_x2", "c10::Float4_e2m1fn_x2", 1, Category::Float},
    {"bits1x8", "Bits1x8", "c10::bits1x8", 1, Category::Integer},
    {"bits2x4", "Bits2x4", "c10::bits2x4", 1, Category::Integer},
    {"bits4x2", "Bits4x2", "c10::bits4x2", 1, Category::Integer},
    {"bits8", "Bits8", "c10::bits8", 1, Category::Integer},
    {"bits16", "Bits16", "c10::bits16", 2, Category::Integer},
    {"int1", "Int1", "c10::dummy_int1_7_t<1>", 1, Category::Integer},
    {"int2", "Int2", "c10::dummy_int1_7_t<2>", 1, Category::Integer},
    {"int3", "Int3", "c10::dummy_int1_7_t<3>", 1, Category::Integer},
    {"int4", "Int4", "c10::dummy_int1_7_t<4>", 1, Category::Integer},
    {"int5", "Int5", "c10::dummy_int1_7_t<5>", 1, Category::Integer},
    {"int6", "Int6", "c10::dummy_int1_7_t<6>", 1, Category::Integer},
    {"int7", "Int7", "c10::dummy_int1_7_t<7>", 1, Category::Integer},
    {"uint1", "UInt1", "c10::dummy_uint1_7_t<1>", 1, Category::Integer},
    {"uint2", "UInt2", "c10::dummy_uint1_7_t<2>", 1, Category::Integer},
    {"uint3", "UInt3", "c10::dummy_uint1_7_t<3>", 1, Category::Integer},
    {"uint4", "UInt4", "c10::dummy_uint1_7_t<4>", 1, Category::Integer},
    {"uint5", "UInt5", "c10::dummy_uint1_7_t<5>", 1, Category::Integer},
    {"uint6", "UInt6", "c10::dummy_uint1_7_t<6>", 1, Category::Integer},
    {"uint7", "UInt7", "c10::dummy_uint1_7_t<7>", 1, Category::Integer},
};

PyObject* dtype_objects[kDTypeCount];
PyTypeObject* dtype_type;
PyTypeObject* size_type;

const DTypeObject* dtype_of(PyObject* self) { return reinterpret_cast<DTypeObject*>(self); }

bool has_tensors(PyObject* self) {
  const DTypeInfo* about = dtype_of(self)->about;
  return about >= kDTypes && about < kDTypes + kDTypeCount;
}
/// The type of tensors that the object stands for.
DType element_type(PyObject* self) {
  const DTypeInfo* about = dtype_of(self)->about;
  if (!has_tensors(self))
    fail(ErrorKind::NotImplemented, "\"empty\" not implemented for '", about->legacy_name, "': tensors of type torch.",
         about->name, " are not there, the type can be named only; use uint8 or another integer type");
  return static_cast<DType>(about - kDTypes);
}

PyObject* dtype_repr(PyObject* self) { return PyUnicode_FromFormat("torch.%s", dtype_of(self)->about->name); }
PyObject* dtype_reduce(PyObject* self, PyObject*) { return PyUnicode_FromString(dtype_of(self)->about->name); }
PyObject* dtype_is_floating(PyObject* self, void*) {
  return PyBool_FromLong(dtype_of(self)->about->category == Category::Float);
}
PyObject* dtype_is_complex(PyObject* self, void*) {
  return PyBool_FromLong(dtype_of(self)->about->category == Category::Complex);
}
PyObject* dtype_is_signed(PyObject* self, void*) {
  return guarded([&] {
    const char* name = dtype_of(self)->about->name;
    if (name[0] == 'q') fail("isSignedType not supported for quantized types");
    if (!has_tensors(self) && name[0] == 'b') fail("Bits types are undefined");
    return PyBool_FromLong(dtype_of(self)->is_signed);
  });
}
PyObject* dtype_itemsize(PyObject* self, void*) { return PyLong_FromLong(dtype_of(self)->about->size); }
PyObject* dtype_to_real(PyObject* self, PyObject*) {
  if (!has_tensors(self)) return Py_NewRef(self);
  return guarded([&] { return Py_NewRef(dtype_object(real_type(element_type(self)))); });
}
PyObject* dtype_to_complex(PyObject* self, PyObject*) {
  return guarded([&] { return Py_NewRef(dtype_object(complex_type(element_type(self)))); });
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
                             {Py_tp_doc, const_cast<char*>(help::kDtypeType)},
                             {0, nullptr}};
PyType_Spec dtype_spec = {"adjoint.dtype", sizeof(DTypeObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, dtype_slots};

/// One for each type, whether tensors have it or not.
PyObject* make_dtype(const DTypeInfo& about) {
  auto* object = PyObject_New(DTypeObject, dtype_type);
  check(object != nullptr);
  object->about = &about;
  object->is_signed =
      about.name[0] != 'u' && about.category != Category::Bool && std::string_view(about.name) != "float8_e8m0fnu";
  return reinterpret_cast<PyObject*>(object);
}

/// _named_types(): the types that can be named only, by their names. Called once, when one of them is first touched.
PyObject* named_types(PyObject*, PyObject*) {
  return guarded([&] {
    Object types = checked(PyDict_New());
    for (const DTypeInfo& about : kNamedOnly) {
      Object object = checked(make_dtype(about));
      check(PyDict_SetItemString(types.get(), about.name, object.get()) == 0);
    }
    return types.take();
  });
}
PyMethodDef type_functions[] = {{"_named_types", named_types, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};

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
/// What has no 64 bits wraps around, as in torch.
PyObject* size_numel(PyObject* self, PyObject*) {
  uint64_t product = 1;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self); ++i)
    product *= static_cast<uint64_t>(PyLong_AsLongLong(PyTuple_GET_ITEM(self, i)));
  return PyLong_FromLongLong(static_cast<int64_t>(product));
}

/// The int that an item of a Size stands for: also a NumPy integer or a tensor of one integer.
Object size_item(PyObject* item, Py_ssize_t place) {
  Object number = PyIndex_Check(item) ? Object::steal(PyNumber_Index(item)) : Object();
  if (!number) {
    PyErr_Clear();
    fail(ErrorKind::Type, "torch.Size() takes an iterable of 'int' (item ", place, " is '",
         is_tensor(item) ? "Tensor" : Py_TYPE(item)->tp_name, "')");
  }
  int overflow = 0;
  int64_t value = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
  if (overflow) fail(ErrorKind::Value, "Overflow when unpacking long long: item ", place, " of a torch.Size");
  return checked(PyLong_FromLongLong(value));  // True is 1
}
PyObject* size_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&] {
    PyObject* items = PyTuple_GET_SIZE(args) == 1 ? PyTuple_GET_ITEM(args, 0) : nullptr;
    if (items && !Py_TYPE(items)->tp_iter && !PySequence_Check(items))
      fail(ErrorKind::Type, "'", Py_TYPE(items)->tp_name,
           "' object is not iterable: torch.Size() takes an iterable of 'int'");
    Object given = checked(PyTuple_Type.tp_new(&PyTuple_Type, args, kwargs));
    Py_ssize_t n = PyTuple_GET_SIZE(given.get());
    Object size = checked(type->tp_alloc(type, n));
    for (Py_ssize_t i = 0; i < n; ++i)
      PyTuple_SET_ITEM(size.get(), i, size_item(PyTuple_GET_ITEM(given.get(), i), i).take());
    return size.take();
  });
}
/// Slices and repetitions of Sizes are Sizes.
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
PyObject* size_repeat(PyObject* self, Py_ssize_t n) { return as_size(PyTuple_Type.tp_as_sequence->sq_repeat(self, n)); }
/// Also of a tuple before a Size.
PyObject* size_add(PyObject* a, PyObject* b) {
  if (!PyTuple_Check(a) || !PyTuple_Check(b)) Py_RETURN_NOTIMPLEMENTED;
  Object joined = Object::steal(PyTuple_Type.tp_as_sequence->sq_concat(a, b));
  return joined ? PyObject_CallOneArg(reinterpret_cast<PyObject*>(size_type), joined.get()) : nullptr;
}
PyObject* size_concat(PyObject* a, PyObject* b) {
  return guarded([&] {
    if (!PyTuple_Check(b))
      fail(ErrorKind::Type, "can only concatenate tuple (not ", Py_TYPE(b)->tp_name, ") to torch.Size");
    return size_add(a, b);
  });
}
PyObject* size_reduce(PyObject* self, PyObject*) {
  Object plain = Object::steal(PySequence_List(self));
  return plain ? Py_BuildValue("(O(O))", size_type, plain.get()) : nullptr;
}

PyMethodDef size_methods[] = {{"numel", size_numel, METH_NOARGS, "The number of elements of a tensor of this size."},
                              {"__reduce__", size_reduce, METH_NOARGS, nullptr},
                              {nullptr, nullptr, 0, nullptr}};
PyType_Slot size_slots[] = {{Py_tp_repr, reinterpret_cast<void*>(size_repr)},
                            {Py_tp_new, reinterpret_cast<void*>(size_new)},
                            {Py_tp_methods, size_methods},
                            {Py_mp_subscript, reinterpret_cast<void*>(size_subscript)},
                            {Py_sq_concat, reinterpret_cast<void*>(size_concat)},
                            {Py_sq_repeat, reinterpret_cast<void*>(size_repeat)},
                            {Py_nb_add, reinterpret_cast<void*>(size_add)},
                            {Py_tp_doc, const_cast<char*>(help::kSizeType)},
                            {0, nullptr}};
PyType_Spec size_spec = {"adjoint.Size", 0, 0, Py_TPFLAGS_DEFAULT, size_slots};

}  // namespace

PyTypeObject* make_type(PyObject* module, PyType_Spec* spec, const char* name, PyObject* base) {
  Object bases = base ? checked(PyTuple_Pack(1, base)) : Object();
  Object type = checked(PyType_FromSpecWithBases(spec, bases.get()));
  check(PyModule_AddObjectRef(module, name, type.get()) == 0);
  return reinterpret_cast<PyTypeObject*>(type.take());
}

PyObject* dtype_object(DType dtype) { return dtype_objects[static_cast<int>(dtype)]; }
bool is_dtype(PyObject* object) { return Py_TYPE(object) == dtype_type; }

DType to_dtype(PyObject* object) {
  if (is_dtype(object)) return element_type(object);
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

void init_types(PyObject* module) {
  dtype_type = make_type(module, &dtype_spec, "dtype");
  size_type = make_type(module, &size_spec, "Size", reinterpret_cast<PyObject*>(&PyTuple_Type));
  auto add = [&](const DTypeInfo& about) {
    PyObject* object = make_dtype(about);
    check(PyModule_AddObjectRef(module, about.name, object) == 0);
    return object;
  };
  for (int i = 0; i < kDTypeCount; ++i) dtype_objects[i] = add(kDTypes[i]);
  check(PyModule_AddFunctions(module, type_functions) == 0);
  init_device(module);
  init_storage(module);
}

}  // namespace adjoint
