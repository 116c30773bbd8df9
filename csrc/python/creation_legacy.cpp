// The constructors of old: torch.Tensor(2, 3), torch.LongTensor([1, 2]), tensor.new(storage).
#include "op/object.h"
#include "op/op.h"
#include "ops/memory.h"
#include "python/creation.h"
#include "types/storage.h"
#include "types/types.h"

namespace adjoint::python {
namespace {

/// What a call gave, at most one of data, size, other and storage.
struct Given {
  PyObject* data = nullptr;
  PyObject* size = nullptr;
  PyObject* other = nullptr;
  PyObject* storage = nullptr;
  PyObject* device = nullptr;
};

/// Whether an object stands for one int: also a NumPy array or a tensor of one integer, but no bool.
bool is_int(PyObject* object) {
  if (PyBool_Check(object) || !PyIndex_Check(object)) return false;
  Object index = Object::steal(PyNumber_Index(object));
  if (!index) PyErr_Clear();
  return static_cast<bool>(index);
}

[[noreturn]] void refuse_arguments(PyObject* args, PyObject* keywords) {
  std::string came;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i)
    came += (i ? ", " : "") + std::string(Py_TYPE(PyTuple_GET_ITEM(args, i))->tp_name);
  PyObject *key, *value;
  Py_ssize_t place = 0;
  while (keywords && PyDict_Next(keywords, &place, &key, &value))
    came += (came.empty() ? "" : ", ") + std::string(PyUnicode_AsUTF8(key)) + "=" + Py_TYPE(value)->tp_name;
  fail(ErrorKind::Type, "new() received an invalid combination of arguments - got (", came,
       "), but expected sizes, a sequence of data, a tensor or a storage, and device=; use torch.tensor(data, "
       "dtype=..., "
       "requires_grad=...) for the rest");
}

void read_positional(PyObject* args, Given& given) {
  Py_ssize_t count = PyTuple_GET_SIZE(args);
  if (count == 0) return;
  static PyTypeObject* const size_type = Py_TYPE(make_size({}).get());
  PyObject* first = PyTuple_GET_ITEM(args, 0);
  if (count > 1 && !is_int(first)) refuse_arguments(args, nullptr);
  if (count > 1) {
    given.size = args;
  } else if (is_tensor(first)) {
    given.other = first;
  } else if (is_storage(first)) {
    given.storage = first;
  } else if (Py_TYPE(first) == size_type) {
    given.size = first;
  } else if (is_int(first)) {
    given.size = args;
  } else {
    given.data = first;
  }
}

Given read_arguments(PyObject* args, PyObject* keywords) {
  Given given;
  read_positional(args, given);
  const std::pair<const char*, PyObject**> names[] = {{"data", &given.data},
                                                      {"size", &given.size},
                                                      {"other", &given.other},
                                                      {"storage", &given.storage},
                                                      {"device", &given.device}};
  PyObject *key, *value;
  Py_ssize_t place = 0;
  while (keywords && PyDict_Next(keywords, &place, &key, &value)) {
    PyObject** slot = nullptr;
    for (auto& [name, its_slot] : names)
      if (PyUnicode_CompareWithASCIIString(key, name) == 0) slot = its_slot;
    if (!slot || *slot) refuse_arguments(args, keywords);
    *slot = value;
  }
  bool right = (!given.size || PyTuple_Check(given.size) || PyList_Check(given.size)) &&
               (!given.other || is_tensor(given.other)) && (!given.storage || is_storage(given.storage)) &&
               !given.data + !given.size + !given.other + !given.storage >= 3;
  if (!right) refuse_arguments(args, keywords);
  return given;
}

/// How torch's legacy constructors write down a type.
std::string tensor_options(DType dtype, Device device) {
  return std::string("TensorOptions(dtype=") + info(dtype).c_name + ", device=" + to_string(device) +
         ", layout=Strided, requires_grad=false (default), pinned_memory=false (default), "
         "memory_format=(nullopt))";
}

/// `place` and the type must be those of the other tensor, unless any type will do.
TensorPtr from_tensor(PyObject* other, std::optional<DType> dtype, Device place) {
  Tensor* tensor = as_tensor(other);
  if (dtype && (tensor->dtype != *dtype || tensor->device.type != place.type))
    fail(ErrorKind::Type, "expected ", tensor_options(*dtype, place), " (got ",
         tensor_options(tensor->dtype, tensor->device), "); use tensor.to(",
         tensor->dtype != *dtype ? "dtype" : "device", ")");
  static Op& same = require_op("alias");
  return TensorPtr::steal(as_tensor(call_op(same, {other}).take()));
}

TensorPtr from_storage(PyObject* object, DType dtype) {
  StorageValue value = to_storage(object);
  if (!value.device.holds_values()) fail("new(): the storage holds no memory; it is on the meta device");
  check_storage_type(value, dtype);
  TensorPtr result = on_storage(value, dtype);
  keep_object(result->storage);
  return result;
}

TensorPtr from_data(PyObject* data, DType dtype) {
  if (PyUnicode_Check(data) || PyBytes_Check(data))
    fail(ErrorKind::Type, "new(): invalid data type '", Py_TYPE(data)->tp_name, "'");
  if (!PySequence_Check(data) || is_tensor(data))
    fail(ErrorKind::Type, "new(): data must be a sequence (got ", Py_TYPE(data)->tp_name, ")");
  return tensor_from_data(data, dtype);
}

TensorPtr from_sizes(PyObject* size, DType dtype, Device device) {
  // A tuple, so that an item's __index__ cannot change it meanwhile.
  Object items = checked(PySequence_Tuple(size));
  Ints sizes;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
    PyObject* item = PyTuple_GET_ITEM(items.get(), i);
    auto refuse = [&](auto... why) {
      fail(ErrorKind::Type, "new(): argument 'size' failed to unpack the object at pos ", i + 1, " with error \"",
           why..., "\"");
    };
    if (!is_int(item) && !PyBool_Check(item)) refuse("type must be tuple of ints,but got ", Py_TYPE(item)->tp_name);
    int overflow = 0;
    int64_t value = PyLong_AsLongLongAndOverflow(checked(PyNumber_Index(item)).get(), &overflow);
    if (overflow) refuse("Overflow when unpacking long long");
    sizes.push(value, "new");
  }
  TensorPtr result = empty(make_shape(sizes), dtype, device);
  ops::mark_unset(result.get());
  return result;
}

}  // namespace

TensorPtr legacy_new(PyObject* args, PyObject* keywords, std::optional<DType> type, Tensor* model) {
  Given given = read_arguments(args, keywords);
  DType dtype = type.value_or(default_dtype());
  if (given.other && given.device)
    fail("Legacy tensor ", model ? "new of the form tensor.new" : "constructor of the form torch.Tensor",
         "(tensor, device=device) is not supported.  Use ", model ? "" : "torch.tensor(...) or ",
         "torch.as_tensor(...) instead.");
  const std::string kind = model && model->device.type == DeviceType::Cuda ? "cuda" : "cpu";
  if (given.device && given.device != Py_None && device_kind(given.device) != kind)
    fail("legacy constructor expects device type: ", kind, " but device type: ", device_kind(given.device),
         " was passed; use torch.tensor()");
  const bool other_gpu = kind == "cuda" && given.device && given.device != Py_None;
  const Device place = other_gpu ? to_device(given.device) : model ? model->device : Device();
  if (given.other) return from_tensor(given.other, type, place);
  if (given.storage) return from_storage(given.storage, dtype);
  if (given.data) {
    TensorPtr made = from_data(given.data, dtype);
    if (place.type != DeviceType::Cuda) return made;
    TensorPtr moved = empty(made->sizes(), dtype, place);
    copy_into(made.get(), moved.get());
    return moved;
  }
  Object none = given.size ? Object::borrow(given.size) : checked(Py_BuildValue("(i)", 0));
  return from_sizes(none.get(), dtype, place);
}

PyObject* py_legacy_tensor(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    if (nargs != 3 || !PyTuple_Check(args[1]) || !PyDict_Check(args[2]))
      fail(ErrorKind::Type, "_legacy_tensor() takes a dtype, a tuple and a dict");
    return wrap(legacy_new(args[1], args[2], to_dtype(args[0]))).take();
  });
}

PyMethodDef legacy_functions[] = {
    {"_legacy_tensor", as_method(py_legacy_tensor), METH_FASTCALL,
     "_legacy_tensor(dtype, positional, named): torch.FloatTensor and its like."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace adjoint::python
