// Binding and reading of arguments, with the messages that torch gives.
#include "python/keywords.h"

#include "op/meta.h"
#include "ops/memory.h"
#include "python/interop.h"
#include "tape/node.h"
#include "types/types.h"

namespace adjoint::python {
namespace {

constexpr const char* kOptionNames[kOptionSlots] = {"dtype", "layout", "device", "pin_memory", "requires_grad"};

/// Whether an object counts as an int: bools do not, one-element integer tensors do.
bool is_integer_like(PyObject* object) {
  if (PyLong_Check(object)) return !PyBool_Check(object);
  if (is_tensor(object)) return is_integral(as_tensor(object)->dtype) && as_tensor(object)->ndim() == 0;
  return PyIndex_Check(object);
}

std::string text_of(PyObject* object) {
  Object text = checked(PyObject_Str(object));
  const char* utf8 = PyUnicode_AsUTF8(text.get());
  check(utf8 != nullptr);
  return utf8;
}

}  // namespace

Signature::Signature(const char* name, std::initializer_list<const char*> positional, int required,
                     std::initializer_list<const char*> keyword_only, OptionSet options)
    : name_(name), positional_(static_cast<int>(positional.size())), required_(required) {
  auto add = [&](const char* text) {
    if (text && *text == '*') {
      varargs_ = slots_;
      ++text;
    }
    texts_[slots_] = text;
    keys_[slots_] = text ? checked(PyUnicode_InternFromString(text)).take() : nullptr;
    ++slots_;
  };
  for (const char* text : positional) add(text);
  for (const char* text : keyword_only) add(text);
  options_ = slots_;
  if (options != kNoOptions)
    for (int i = 0; i < kOptionSlots; ++i) add(options >> i & 1 ? kOptionNames[i] : nullptr);
}

int Signature::find(PyObject* keyword) const {
  for (int i = 0; i < slots_; ++i)
    if (keys_[i] == keyword) return i;
  // Names made at run time need not be interned.
  for (int i = 0; i < slots_; ++i)
    if (keys_[i] && PyUnicode_Compare(keys_[i], keyword) == 0) return i;
  return -1;
}

Call::Call(const Signature& signature, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames)
    : signature_(signature), keywords_(kwnames && PyTuple_GET_SIZE(kwnames) > 0) {
  Py_ssize_t taken = nargs;
  if (signature.varargs_ >= 0 && nargs > signature.varargs_) {
    int slot = signature.varargs_;
    if (!is_sequence(args[slot])) {
      rest_ = args + slot;
      n_rest_ = nargs - slot;
      taken = slot + 1;
    }
  }
  if (taken > signature.positional_)
    fail(ErrorKind::Type, name(), "() takes ", signature.positional_, " positional argument",
         signature.positional_ == 1 ? "" : "s", " but ", nargs, nargs == 1 ? " was" : " were", " given");
  std::copy(args, args + taken, slots_);
  if (keywords_) {
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(kwnames); ++k) {
      PyObject* key = PyTuple_GET_ITEM(kwnames, k);
      int slot = signature.find(key);
      if (slot < 0) fail(ErrorKind::Type, name(), "() got an unexpected keyword argument '", text_of(key), "'");
      if (slots_[slot])
        fail(ErrorKind::Type, name(), "() got multiple values for argument '", signature.texts_[slot], "'");
      slots_[slot] = args[nargs + k];
    }
  }
  for (int i = 0; i < signature.required_; ++i) require(i);
}

void Call::require(int slot) const {
  if (!slots_[slot])
    fail(ErrorKind::Type, name(), "() missing 1 required positional arguments: \"", signature_.texts_[slot], "\"");
}

std::string Call::describe(int slot) const {
  std::string text = std::string(name()) + "(): argument '" + signature_.texts_[slot] + "'";
  if (slot < signature_.positional_) text += " (position " + std::to_string(slot + 1) + ")";
  return text;
}

void Call::wrong_type(int slot, const char* expected) const { wrong_type(slot, expected, slots_[slot]); }
void Call::wrong_type(int slot, const char* expected, PyObject* given) const {
  fail(ErrorKind::Type, describe(slot), " must be ", expected, ", not ", Py_TYPE(given)->tp_name);
}

Tensor* Call::tensor(int slot) const {
  if (!is_tensor(slots_[slot])) wrong_type(slot, "Tensor");
  refuse_without_shape(name(), slots_[slot]);
  return as_tensor(slots_[slot]);
}

int64_t Call::integer(int slot) const {
  if (!is_integer_like(slots_[slot])) wrong_type(slot, "int");
  Object index = Object::steal(PyNumber_Index(slots_[slot]));
  if (!index) {
    PyErr_Clear();
    wrong_type(slot, "int");
  }
  int overflow = 0;
  int64_t value = PyLong_AsLongLongAndOverflow(index.get(), &overflow);
  if (overflow) fail(ErrorKind::Value, "Overflow when unpacking long long: ", describe(slot), " must fit in 64 bits");
  return value;
}

bool Call::flag(int slot, bool fallback) const {
  if (!has(slot)) return fallback;
  if (!PyBool_Check(slots_[slot])) wrong_type(slot, "bool");
  return slots_[slot] == Py_True;
}

double Call::real(int slot, double fallback) const {
  if (!slots_[slot]) return fallback;
  if (is_tensor(slots_[slot]) && as_tensor(slots_[slot])->ndim() > 0) wrong_type(slot, "float");
  if (PyLong_Check(slots_[slot])) {
    double value = PyLong_AsDouble(slots_[slot]);
    check(value != -1.0 || !PyErr_Occurred());
    return value;
  }
  Scalar scalar = number(slot);
  if (scalar.category == Category::Complex) wrong_type(slot, "float");
  return scalar.to<double>();
}

void Call::check_number(int slot) const {
  PyObject* object = slots_[slot];
  Scalar scalar;
  if (PyLong_Check(object)) return;
  bool ok = is_tensor(object) ? as_tensor(object)->ndim() == 0 && !requires_grad(as_tensor(object))
                              : !is_numpy_array(object) && to_scalar(object, &scalar);
  if (!ok) wrong_type(slot, "Number");
}

Scalar Call::number(int slot) const {
  check_number(slot);
  PyObject* object = slots_[slot];
  if (is_tensor(object)) return scalar_of(as_tensor(object));
  Scalar scalar;
  to_scalar(object, &scalar);
  if (PyLong_Check(object) && scalar.category == Category::Float) {
    if (scalar.real < 0)
      fail(ErrorKind::Overflow, "can't convert negative int to unsigned: ", describe(slot), " is below -2**63");
    if (scalar.real >= 0x1p64)
      fail(ErrorKind::Overflow, "int too big to convert: ", describe(slot), " must be less than 2**64");
  }
  return scalar;
}

Ints Call::read_sizes(int slot, PyObject* const* items, Py_ssize_t count) const {
  Ints sizes;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = items[i];
    // torch looks at the first type only: (2, True) is (2, 1).
    if (!is_integer_like(item) && !(i > 0 && PyBool_Check(item))) {
      if (n_rest_ == 1) wrong_type(slot, "tuple of ints", item);
      fail(ErrorKind::Type, describe(slot), " must be tuple of ints, but found element of type ",
           Py_TYPE(item)->tp_name, " at pos ", i);
    }
    Object index = checked(PyNumber_Index(item));
    int overflow = 0;
    int64_t value = PyLong_AsLongLongAndOverflow(index.get(), &overflow);
    if (overflow)
      fail(ErrorKind::Type, describe(slot), " failed to unpack the object at pos ", i + 1,
           ": Overflow when unpacking long long");
    sizes.push(value, name());
  }
  return sizes;
}

Ints Call::sizes(int slot) const {
  if (n_rest_ > 0) return read_sizes(slot, rest_, n_rest_);
  if (!is_sequence(slots_[slot])) wrong_type(slot, "tuple of ints");
  // A tuple, so that an item's __index__ cannot change it meanwhile.
  Object items = checked(PySequence_Tuple(slots_[slot]));
  return read_sizes(slot, &PyTuple_GET_ITEM(items.get(), 0), PyTuple_GET_SIZE(items.get()));
}

std::optional<DType> Call::dtype(int slot) const {
  if (!has(slot)) return std::nullopt;
  PyObject* object = slots_[slot];
  bool python_type =
      object == reinterpret_cast<PyObject*>(&PyFloat_Type) || object == reinterpret_cast<PyObject*>(&PyLong_Type) ||
      object == reinterpret_cast<PyObject*>(&PyBool_Type) || object == reinterpret_cast<PyObject*>(&PyComplex_Type);
  if (!python_type && !is_dtype(object)) wrong_type(slot, "torch.dtype");
  return to_dtype(object);
}

std::optional<MemoryFormat> Call::memory_format(int slot) const {
  if (!has(slot)) return std::nullopt;
  std::optional<MemoryFormat> format = to_memory_format(slots_[slot]);
  if (!format) wrong_type(slot, "torch.memory_format");
  return format;
}

Options Call::options() const {
  Options options;
  if (!keywords_) return options;
  int first = signature_.options_;
  options.dtype = dtype(first + kDTypeSlot);
  int layout = first + kLayoutSlot;
  if (has(layout)) {
    if (!is_layout(slots_[layout])) wrong_type(layout, "torch.layout");
    if (!is_strided(slots_[layout]))
      fail(name(), "(): only the layout torch.strided is supported; got ", text_of(slots_[layout]),
           "; leave layout out");
  }
  int device = first + kDeviceSlot;
  if (has(device)) {
    if (!names_device(slots_[device])) wrong_type(device, "torch.device");
    options.device = to_device(slots_[device]);
  }
  if (flag(first + kPinMemorySlot, false))
    fail("pin_memory=True requires a CUDA or other accelerator backend; there is none, leave pin_memory out");
  options.requires_grad = flag(first + kRequiresGradSlot, false);
  return options;
}

}  // namespace adjoint::python
