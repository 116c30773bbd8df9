#include "op/arg.h"

#include "op/advice.h"
#include "ops/memory.h"
#include "tape/node.h"
#include "types/formats.h"
#include "types/generator.h"
#include "types/types.h"

namespace adjoint {

/// An integer of 64 bits with or without a sign; what is beyond is refused.
static Scalar wide_scalar(PyObject* object) {
  int overflow = 0;
  int64_t value = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (overflow < 0) fail(ErrorKind::Overflow, "can't convert negative int to unsigned: a number is below -2**63");
  if (overflow == 0) return Scalar::of(value);
  unsigned long long wide = PyLong_AsUnsignedLongLong(object);
  if (!PyErr_Occurred()) return Scalar::of_unsigned(wide);
  PyErr_Clear();
  fail(ErrorKind::Overflow, "int too big to convert: a number must be less than 2**64, or a float");
}

bool to_scalar(PyObject* object, Scalar* scalar) {
  if (PyFloat_Check(object)) {
    *scalar = Scalar::of(PyFloat_AS_DOUBLE(object));
    return true;
  }
  if (PyBool_Check(object)) {
    *scalar = Scalar::of(object == Py_True);
    return true;
  }
  if (PyLong_Check(object)) {
    *scalar = wide_scalar(object);
    return true;
  }
  if (PyComplex_Check(object)) {
    Py_complex value = PyComplex_AsCComplex(object);
    *scalar = Scalar::of(complex128(value.real, value.imag));
    return true;
  }
  if (is_tensor(object) || !PyObject_HasAttrString(object, "dtype") || !PyObject_HasAttrString(object, "item"))
    return false;
  // A NumPy scalar (or a 0-d array): its item() is a Python number.
  Object shape = Object::steal(PyObject_GetAttrString(object, "shape"));
  if (!shape) {
    PyErr_Clear();
    return false;
  }
  if (!PyTuple_Check(shape.get()) || PyTuple_GET_SIZE(shape.get()) != 0) return false;
  Object item = checked(PyObject_CallMethod(object, "item", nullptr));
  if (!PyFloat_Check(item.get()) && !PyLong_Check(item.get()) && !PyComplex_Check(item.get())) return false;
  return to_scalar(item.get(), scalar);
}

/// Whether this is a tensor of one integer (or bool).
static bool is_single_integer(PyObject* object) {
  return is_tensor(object) && is_integral(as_tensor(object)->dtype) && as_tensor(object)->numel() == 1;
}

/// The value of a plain int that fits in 64 bits.
static std::optional<int64_t> plain_int(PyObject* object) {
  if (!PyLong_CheckExact(object)) return std::nullopt;
  int overflow = 0;
  int64_t value = PyLong_AsLongLongAndOverflow(object, &overflow);
  return overflow ? std::nullopt : std::optional(value);
}

int64_t to_int(PyObject* object, const char* op, const char* name) {
  if (auto value = plain_int(object)) return *value;
  if (is_tensor(object)) {
    if (!is_single_integer(object)) Arg{object, op, name}.wrong_type("int");
    return scalar_of(Arg{object, op, name}).to<int64_t>();
  }
  if (!PyIndex_Check(object) || PyBool_Check(object)) Arg{object, op, name}.wrong_type("int");
  Object index = Object::steal(PyNumber_Index(object));
  if (!index) {
    PyErr_Clear();
    Arg{object, op, name}.wrong_type("int");
  }
  int64_t value = PyLong_AsLongLong(index.get());
  if (value == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    fail(ErrorKind::Value, "Overflow when unpacking long long: ", op, "(): argument '", name, "' must fit in 64 bits");
  }
  return value;
}

std::string Arg::described() const {
  std::string text = std::string(op) + "(): argument '" + name + "'";
  return position ? text + " (position " + std::to_string(position) + ")" : text;
}

void Arg::wrong_type(const char* expected) const {
  fail(ErrorKind::Type, described(), " must be ", expected, ", not ", Py_TYPE(object)->tp_name,
       conversion_advice(object, expected));
}

Arg::operator Tensor*() const {
  if (!is_tensor(object)) wrong_type("Tensor");
  return as_tensor(object);
}
Arg::operator std::optional<Tensor*>() const {
  if (object == Py_None) return std::nullopt;
  return static_cast<Tensor*>(*this);
}
Arg::operator int64_t() const {
  // Among several ints a tensor may be a bool or have dimensions, alone it may not.
  if (!PyLong_CheckExact(object) && is_tensor(object) &&
      (as_tensor(object)->ndim() > 0 || as_tensor(object)->dtype == DType::Bool))
    wrong_type("int");
  return to_int(object, op, name);
}
Arg::operator std::optional<int64_t>() const {
  if (object == Py_None) return std::nullopt;
  return static_cast<int64_t>(*this);
}
Arg::operator bool() const {
  if (!PyBool_Check(object)) wrong_type("bool");
  return object == Py_True;
}
Arg::operator std::optional<bool>() const {
  if (object == Py_None) return std::nullopt;
  return static_cast<bool>(*this);
}
Arg::operator double() const {
  if (PyFloat_CheckExact(object)) return PyFloat_AS_DOUBLE(object);
  if (auto value = plain_int(object)) return static_cast<double>(*value);
  if (is_tensor(object)) {
    if (as_tensor(object)->ndim() > 0 || requires_grad(as_tensor(object))) wrong_type("float");
    Object item = checked(PyObject_CallMethod(object, "item", nullptr));
    return Arg{item.get(), op, name};
  }
  if (PyLong_Check(object)) {
    double wide = PyLong_AsDouble(object);
    if (wide == -1.0 && PyErr_Occurred()) fail_python();
    return wide;
  }
  Scalar scalar;
  if (!to_scalar(object, &scalar) || scalar.category == Category::Complex) wrong_type("float");
  return scalar.to<double>();
}
Arg::operator std::optional<double>() const {
  if (object == Py_None) return std::nullopt;
  return static_cast<double>(*this);
}
Arg::operator Scalar() const {
  Scalar scalar;
  if (is_tensor(object) && as_tensor(object)->ndim() == 0) {
    Object item = checked(PyObject_CallMethod(object, "item", nullptr));
    return Arg{item.get(), op, name};
  }
  if (!to_scalar(object, &scalar)) wrong_type("Number");
  return scalar;
}
Arg::operator std::optional<Scalar>() const {
  if (object == Py_None) return std::nullopt;
  return static_cast<Scalar>(*this);
}
Arg::operator Value() const {
  if (is_tensor(object)) return as_tensor(object);
  Scalar scalar;
  if (!to_scalar(object, &scalar)) wrong_type("Tensor or Number");
  return scalar;
}
Arg::operator std::optional<Value>() const {
  if (object == Py_None) return std::nullopt;
  return static_cast<Value>(*this);
}
Arg::operator DType() const {
  const bool pythons =
      object == reinterpret_cast<PyObject*>(&PyFloat_Type) || object == reinterpret_cast<PyObject*>(&PyBool_Type) ||
      object == reinterpret_cast<PyObject*>(&PyLong_Type) || object == reinterpret_cast<PyObject*>(&PyComplex_Type);
  if (!is_dtype(object) && !pythons) wrong_type("torch.dtype");
  return to_dtype(object);
}
Arg::operator std::optional<DType>() const {
  if (object == Py_None) return std::nullopt;
  return static_cast<DType>(*this);
}
/// Calls take(value) for each of a sequence of ints, or for an int alone.
template <class F>
static void for_each_int(const Arg& arg, F take) {
  PyObject* object = arg.object;
  if ((PyIndex_Check(object) && !PySequence_Check(object)) || is_single_integer(object))
    return take(to_int(object, arg.op, arg.name));
  if (!PyTuple_Check(object) && !PyList_Check(object)) arg.wrong_type("tuple of ints");
  // A tuple, so that an item's __index__ cannot change it meanwhile.
  Object items = checked(PySequence_Tuple(object));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
    PyObject* item = PyTuple_GET_ITEM(items.get(), i);
    if (!is_tensor(item) && (!PyIndex_Check(item) || PyBool_Check(item)))
      fail(ErrorKind::Type, arg.op, "(): argument '", arg.name, "' must be tuple of ints, but found element of type ",
           Py_TYPE(item)->tp_name, " at pos ", i, conversion_advice(item, "int"));
    take(to_int(item, arg.op, arg.name));
  }
}

Arg::operator Ints() const {
  Ints ints;
  for_each_int(*this, [&](int64_t value) { ints.push(value, op); });
  return ints;
}
Arg::operator std::vector<int64_t>() const {
  std::vector<int64_t> ints;
  if (PyTuple_Check(object) || PyList_Check(object)) ints.reserve(PySequence_Fast_GET_SIZE(object));
  for_each_int(*this, [&](int64_t value) { ints.push_back(value); });
  return ints;
}
Arg::operator std::optional<Ints>() const {
  if (object == Py_None) return std::nullopt;
  return static_cast<Ints>(*this);
}

/// Whether an object counts as a size: bools do not, tensors of one integer do.
static bool is_size(PyObject* object) {
  if (is_tensor(object)) return is_integral(as_tensor(object)->dtype) && as_tensor(object)->ndim() == 0;
  return PyIndex_Check(object) && !PyBool_Check(object);
}

/// The value of a size; `place` is its position for an error.
static int64_t to_size(const Arg& arg, PyObject* item, Py_ssize_t place) {
  int overflow = 0;
  int64_t value = PyLong_CheckExact(item)
                      ? PyLong_AsLongLongAndOverflow(item, &overflow)
                      : PyLong_AsLongLongAndOverflow(checked(PyNumber_Index(item)).get(), &overflow);
  if (overflow)
    fail(ErrorKind::Type, arg.described(), " failed to unpack the object at pos ", place + 1,
         ": Overflow when unpacking long long");
  return value;
}

template <class List>
static List to_sizes(const Arg& arg) {
  if (!PyTuple_Check(arg.object) && !PyList_Check(arg.object)) arg.wrong_type("tuple of ints");
  // A tuple, so that an item's __index__ cannot change it meanwhile.
  Object copy = PyTuple_Check(arg.object) ? Object() : checked(PySequence_Tuple(arg.object));
  PyObject* items = copy ? copy.get() : arg.object;
  List sizes;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items); ++i) {
    PyObject* item = PyTuple_GET_ITEM(items, i);
    // torch looks at the first type only: (2, True) is (2, 1).
    if (!PyLong_CheckExact(item) && !is_size(item) && !(i > 0 && PyBool_Check(item)))
      fail(ErrorKind::Type, arg.described(), " must be tuple of ints, but found element of type ",
           Py_TYPE(item)->tp_name, " at pos ", i, conversion_advice(item, "int"));
    sizes.push(to_size(arg, item, i), arg.op);
  }
  return sizes;
}

Arg::operator SizeList() const { return to_sizes<SizeList>(*this); }
Arg::operator std::optional<SizeList>() const {
  if (object == Py_None) return std::nullopt;
  return static_cast<SizeList>(*this);
}
Arg::operator SizeArgs() const {
  if (!PyLong_CheckExact(object) && (PyTuple_Check(object) || !is_size(object))) return to_sizes<SizeArgs>(*this);
  SizeArgs sizes;
  sizes.push(to_size(*this, object, 0), op);
  return sizes;
}
Arg::operator Number() const {
  if (PyFloat_CheckExact(object)) return {Scalar::of(PyFloat_AS_DOUBLE(object)), Category::Float};
  if (auto value = plain_int(object)) return {Scalar::of(*value), Category::Integer};
  if (is_tensor(object)) {
    if (as_tensor(object)->ndim() > 0 || requires_grad(as_tensor(object))) wrong_type("Number");
    Scalar value = scalar_of(as_tensor(object));
    return {value, value.category};
  }
  Number number;
  // NumPy's arrays are no numbers; its bools are floats to torch.
  const bool known = PyFloat_Check(object) || PyLong_Check(object) || PyComplex_Check(object);
  if ((!known && PySequence_Check(object)) || !to_scalar(object, &number.value)) wrong_type("Number");
  number.category = number.value.category;
  if (number.category == Category::Bool && !PyBool_Check(object)) number.category = Category::Float;
  if (PyLong_Check(object) && number.category == Category::Float) number.category = Category::Integer;
  return number;
}
Arg::operator std::optional<Number>() const {
  if (object == Py_None) return std::nullopt;
  return static_cast<Number>(*this);
}
Arg::operator TensorOrNumber() const {
  if (is_tensor(object)) return {as_tensor(object)};
  return {nullptr, static_cast<Number>(*this)};
}
Arg::operator TensorOrReal() const {
  if (is_tensor(object)) return {as_tensor(object)};
  return {nullptr, static_cast<double>(*this)};
}
Arg::operator std::optional<TensorOrReal>() const {
  if (object == Py_None) return std::nullopt;
  return static_cast<TensorOrReal>(*this);
}
Arg::operator Generator*() const {
  if (object == Py_None) return nullptr;
  Generator* generator = to_generator(object);
  if (!generator) wrong_type("torch.Generator");
  return generator;
}
Arg::operator Device() const {
  if (!names_device(object)) wrong_type("torch.device");
  return to_device(object);
}
Arg::operator std::optional<MemoryFormat>() const {
  if (object == Py_None) return std::nullopt;
  std::optional<MemoryFormat> format = to_memory_format(object);
  if (!format) wrong_type("torch.memory_format");
  return format;
}
Arg::operator std::string() const {
  const char* text = PyUnicode_Check(object) ? PyUnicode_AsUTF8(object) : nullptr;
  if (!text) {
    PyErr_Clear();
    wrong_type("str");
  }
  return text;
}
Arg::operator std::optional<std::string>() const {
  if (object == Py_None) return std::nullopt;
  return static_cast<std::string>(*this);
}
Arg::operator std::vector<Tensor*>() const {
  if (!PyTuple_Check(object) && !PyList_Check(object)) wrong_type("tuple of Tensors");
  Object items = checked(PySequence_Fast(object, "expected a sequence of tensors"));
  std::vector<Tensor*> tensors;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(items.get(), i);
    if (!is_tensor(item))
      fail(ErrorKind::Type, op, "(): expected Tensor as element ", i, " in argument '", name, "', but got ",
           Py_TYPE(item)->tp_name);
    tensors.push_back(as_tensor(item));
  }
  return tensors;
}
Arg::operator std::vector<std::optional<Tensor*>>() const {
  if (!PyTuple_Check(object) && !PyList_Check(object)) wrong_type("tuple of Tensors");
  std::vector<std::optional<Tensor*>> tensors(PySequence_Fast_GET_SIZE(object));
  for (size_t i = 0; i < tensors.size(); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(object, i);
    if (item == Py_None) continue;
    if (!is_tensor(item))
      fail(ErrorKind::Type, "expected Tensor as element ", i, " in argument '", name, "', but got ",
           Py_TYPE(item)->tp_name, " (", op, ")");
    tensors[i] = as_tensor(item);
  }
  return tensors;
}

Object wrap(TensorPtr tensor) { return Object::steal(as_object(tensor.take())); }
Object wrap(std::vector<TensorPtr> tensors) {
  Object tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(tensors.size())));
  for (size_t i = 0; i < tensors.size(); ++i) PyTuple_SET_ITEM(tuple.get(), i, as_object(tensors[i].take()));
  return tuple;
}
Object wrap(std::variant<TensorPtr, std::vector<TensorPtr>> one_or_more) {
  return std::visit([](auto& tensors) { return wrap(std::move(tensors)); }, one_or_more);
}
Object wrap(std::pair<TensorPtr, TensorPtr> tensors) {
  Object tuple = checked(PyTuple_New(2));
  PyTuple_SET_ITEM(tuple.get(), 0, as_object(tensors.first.take()));
  PyTuple_SET_ITEM(tuple.get(), 1, as_object(tensors.second.take()));
  return tuple;
}
Object wrap(std::tuple<TensorPtr, TensorPtr, TensorPtr> tensors) {
  Object tuple = checked(PyTuple_New(3));
  PyTuple_SET_ITEM(tuple.get(), 0, as_object(std::get<0>(tensors).take()));
  PyTuple_SET_ITEM(tuple.get(), 1, as_object(std::get<1>(tensors).take()));
  PyTuple_SET_ITEM(tuple.get(), 2, as_object(std::get<2>(tensors).take()));
  return tuple;
}
Object wrap(bool value) { return checked(PyBool_FromLong(value)); }
Object wrap(int64_t value) { return checked(PyLong_FromLongLong(value)); }
Object wrap(double value) { return checked(PyFloat_FromDouble(value)); }

}  // namespace adjoint
