// Tensors made from Python data: numbers, nested sequences, arrays. Two passes: the type, then the values.
#include <cmath>

#include "core/batched.h"
#include "core/help.h"
#include "core/lock.h"
#include "core/mode.h"
#include "core/sparse.h"
#include "cpu/copy.h"
#include "op/meta.h"
#include "op/recorded.h"
#include "ops/memory.h"
#include "python/creation.h"
#include "python/interop.h"
#include "python/overridable.h"
#include "tape/history.h"
#include "types/types.h"

namespace adjoint::python {
void warn_scalar_of_grad(Tensor* tensor) {
  static bool warned = false;
  if (grad_enabled() && requires_grad(tensor))
    warn_once(warned,
              "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
              "Consider using tensor.detach() first. The value is copied, which cuts the graph: no gradient flows back "
              "through the copy. To keep it, put tensors together with torch.stack() or torch.cat().");
}

namespace {

constexpr const char* kNotScalar =
    "only one element tensors can be converted to Python scalars; stack() makes one tensor of a list of tensors";

[[noreturn]] void fail_data_type(PyObject* object) {
  fail(ErrorKind::Type, "new(): invalid data type '", Py_TYPE(object)->tp_name, "'");
}
bool is_text(PyObject* object) { return PyUnicode_Check(object) || PyBytes_Check(object); }

/// A sequence to descend into; tensors count as elements.
bool is_nested(PyObject* object) { return !is_tensor(object) && PySequence_Check(object); }

// ---- One element

double real_element(PyObject* object) {
  if (is_tensor(object)) {
    Tensor* tensor = as_tensor(object);
    if (tensor->numel() != 1 || tensor->device == DeviceType::Meta) fail(ErrorKind::Value, kNotScalar);
    warn_scalar_of_grad(tensor);
    Scalar value = scalar_of(tensor);
    if (value.category == Category::Complex && value.imaginary != 0)
      fail("value cannot be converted to type double without overflow");
    return value.to<double>();
  }
  double value = PyFloat_AsDouble(object);
  if (value == -1.0 && PyErr_Occurred()) fail_python();
  return value;
}

complex128 complex_element(PyObject* object) {
  if (is_tensor(object) && is_complex(as_tensor(object)->dtype)) {
    Tensor* tensor = as_tensor(object);
    if (tensor->numel() != 1 || tensor->device == DeviceType::Meta) fail(ErrorKind::Value, kNotScalar);
    warn_scalar_of_grad(tensor);
    return scalar_of(tensor).to<complex128>();
  }
  if (is_tensor(object)) return real_element(object);
  Py_complex value = PyComplex_AsCComplex(object);
  if (value.real == -1.0 && PyErr_Occurred()) fail_python();
  return {value.real, value.imag};
}

/// A one-element integer tensor as a number.
int64_t tensor_index(Tensor* tensor) {
  if (!is_integral(tensor->dtype) || tensor->numel() != 1 || tensor->device == DeviceType::Meta)
    fail(ErrorKind::Type, "only integer tensors of a single element can be converted to an index");
  return scalar_of(tensor).to<int64_t>();
}

Object whole_number(PyObject* object) {
  if (!PyIndex_Check(object))
    fail(ErrorKind::Type, "'", Py_TYPE(object)->tp_name,
         "' object cannot be interpreted as an integer: expected numbers for a tensor of integers or bools");
  return checked(PyNumber_Index(object));
}

int64_t integer_element(PyObject* object, DType dtype) {
  Scalar value;
  if (PyFloat_Check(object)) {
    value = Scalar::of(PyFloat_AS_DOUBLE(object));
  } else if (is_tensor(object)) {
    value = Scalar::of(tensor_index(as_tensor(object)));
  } else {
    Object index = whole_number(object);
    int overflow = 0;
    value = Scalar::of(static_cast<int64_t>(PyLong_AsLongLongAndOverflow(index.get(), &overflow)));
    if (overflow) fail(ErrorKind::Value, "Overflow when unpacking long long: an integer must fit in 64 bits");
  }
  check_fits(value, dtype, info(dtype).name);
  return value.to<int64_t>();
}

/// Of uint64, whose greater numbers are beyond int64.
uint64_t unsigned_element(PyObject* object) {
  if (PyFloat_Check(object) || is_tensor(object)) return static_cast<uint64_t>(integer_element(object, DType::Int64));
  Object index = whole_number(object);
  uint64_t value = PyLong_AsUnsignedLongLong(index.get());
  if (value == ~uint64_t{0} && PyErr_Occurred()) fail_python();
  return value;
}

bool truth_element(PyObject* object) {
  if (is_tensor(object)) return tensor_index(as_tensor(object)) != 0;
  bool number = PyBool_Check(object) || PyLong_Check(object) || PyFloat_Check(object) ||
                (PyComplex_Check(object) && !is_numpy_scalar(object));
  if (!number && is_numpy_scalar(object)) number = numpy_type(object) == DType::Bool;
  if (number) {
    int truth = PyObject_IsTrue(object);
    check(truth >= 0);
    return truth;
  }
  Object index = whole_number(object);
  return PyObject_IsTrue(index.get());
}

template <class T>
T element(PyObject* object) {
  if constexpr (std::is_same_v<T, bool>)
    return truth_element(object);
  else if constexpr (std::is_same_v<T, uint64_t>)
    return unsigned_element(object);
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(integer_element(object, DTypeOf<T>::value));
  else if constexpr (is_complex_v<T> || std::is_same_v<T, ComplexHalf>)
    return convert<T>(complex_element(object));
  else
    return convert<T>(PyFloat_CheckExact(object) ? PyFloat_AS_DOUBLE(object) : real_element(object));
}

// ---- Nested data

class NestedData {
 public:
  explicit NestedData(PyObject* data) : data_(data) { read_sizes(); }

  DType infer() {
    infer_item(data_, 0);
    return type_.value_or(default_dtype());
  }
  TensorPtr make(DType dtype) {
    TensorPtr result = empty(Sizes{sizes_, static_cast<size_t>(ndim_)}, dtype, DeviceType::Cpu);
    if (result->numel() == 0) return result;
    dispatch_any(dtype, [&](auto tag) {
      using T = decltype(tag);
      if (ndim_ == 0) {
        *result->as<T>() = element<T>(data_);
      } else {
        fill<T>(data_, 0, result->as<T>(), result.get());
      }
    });
    return result;
  }

 private:
  /// The sizes are those along the first elements.
  void read_sizes() {
    Object current = Object::borrow(data_);
    while (is_nested(current.get())) {
      if (ndim_ == kMaxDims) fail(ErrorKind::Value, "too many dimensions '", Py_TYPE(current.get())->tp_name, "'");
      Py_ssize_t size = PySequence_Size(current.get());
      check(size >= 0);
      sizes_[ndim_++] = size;
      if (size == 0) return;
      Object first = Object::steal(PySequence_GetItem(current.get(), 0));
      if (!first) {
        PyErr_Clear();
        fail(ErrorKind::Value, "could not determine the shape of object type '", Py_TYPE(current.get())->tp_name, "'");
      }
      current = std::move(first);
    }
  }

  void note(DType dtype) { type_ = type_ ? promote(*type_, dtype) : dtype; }

  void infer_item(PyObject* object, int depth) {
    if (PyFloat_CheckExact(object)) return note(default_dtype());
    if (PyBool_Check(object)) return note(DType::Bool);
    if (PyLong_Check(object)) return note(DType::Int64);
    if (is_tensor(object)) return note(as_tensor(object)->dtype);
    if (is_text(object)) fail_data_type(object);
    if (is_numpy_scalar(object)) return note(numpy_type(object));
    if (PyFloat_Check(object)) return note(default_dtype());
    if (PyComplex_Check(object)) return note(complex_type(default_dtype()));
    if (is_numpy_array(object)) return infer_array(object, depth);
    if (!PySequence_Check(object)) fail("Could not infer dtype of ", Py_TYPE(object)->tp_name);
    // Each sequence has a type of its own first: what stands beside it does not cut its reading short.
    std::optional<DType> beside = std::exchange(type_, std::nullopt);
    infer_sequence(object, depth);
    if (beside) note(*beside);
  }

  void infer_array(PyObject* array, int depth) {
    static bool warned = false;
    if (depth > 0)
      warn_once(warned,
                "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting the "
                "list to a single "
                "numpy.ndarray with numpy.array() before converting to a tensor.");
    note(numpy_type(array));
  }

  /// Data that is ragged will be refused when it is filled in; until then it may be of any size, even infinite.
  void infer_sequence(PyObject* object, int depth) {
    Object items = checked(PySequence_Fast(object, "not a sequence"));
    Py_ssize_t size = PySequence_Fast_GET_SIZE(items.get());
    if (size == 0) return note(default_dtype());
    if (depth > kMaxDims) fail(ErrorKind::Value, "too many dimensions '", Py_TYPE(object)->tp_name, "'");
    bool ragged = depth >= ndim_ || size != sizes_[depth];
    bool floats = false, integers = false;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
      if (ragged && --ragged_budget_ < 0) return;
      PyObject* item = PySequence_Fast_GET_ITEM(items.get(), i);
      if (PyFloat_CheckExact(item)) {
        floats = true;
      } else if (PyLong_CheckExact(item)) {
        integers = true;
      } else {
        if (item == object) fail(ErrorKind::Type, "new(): self-referential lists are incompatible");
        Object kept = Object::borrow(item);
        infer_item(item, depth + 1);
        if (type_ == DType::Complex128) return;  // nothing can change it any more
      }
    }
    if (floats) note(default_dtype());
    if (integers) note(DType::Int64);
  }

  template <class T>
  void fill(PyObject* object, int depth, T* out, Tensor* whole) {
    if (is_numpy_array(object) && fill_from_array(object, depth, reinterpret_cast<char*>(out), whole)) return;
    Object items = checked(PySequence_Fast(object, "not a sequence"));
    int64_t size = sizes_[depth];
    auto check_size = [&] {
      Py_ssize_t found = PySequence_Fast_GET_SIZE(items.get());
      if (found != size)
        fail(ErrorKind::Value, "expected sequence of length ", size, " at dim ", depth, " (got ", found,
             "); rows must be equally long: pad them, or keep a list of tensors");
    };
    check_size();
    int64_t step = whole->stride(depth);
    bool innermost = depth == ndim_ - 1;
    for (int64_t i = 0; i < size; ++i) {
      PyObject* item = PySequence_Fast_GET_ITEM(items.get(), i);
      if (innermost && fill_plain(item, out + i)) continue;
      // Converting an item may run Python code that changes the list.
      Object kept = Object::borrow(item);
      if (innermost) {
        out[i] = element<T>(item);
      } else {
        fill(item, depth + 1, out + i * step, whole);
      }
      check_size();
    }
  }

  /// Plain floats into floats and plain small ints into int64, without any call.
  template <class T>
  static bool fill_plain(PyObject* item, T* out) {
    if constexpr (std::is_floating_point_v<T>) {
      if (!PyFloat_CheckExact(item)) return false;
      *out = static_cast<T>(PyFloat_AS_DOUBLE(item));
      return true;
    } else if constexpr (std::is_same_v<T, int64_t>) {
      if (!PyLong_CheckExact(item)) return false;
      int overflow = 0;
      *out = PyLong_AsLongLongAndOverflow(item, &overflow);
      return overflow == 0;
    }
    return false;
  }

  /// Copies a whole array where its elements need no checks; false when they must be read one by one.
  bool fill_from_array(PyObject* array, int depth, char* out, Tensor* whole) {
    if (promote(numpy_type(array), whole->dtype) != whole->dtype) return false;
    Object flags = checked(PyObject_GetAttrString(array, "flags"));
    Object packed = checked(PyObject_GetAttrString(flags.get(), "carray"));
    if (packed.get() != Py_True || !is_native(array)) return false;
    TensorPtr part = from_numpy(array, ArrayUse::Source);
    if (part->ndim() != ndim_ - depth || !std::equal(part->sizes().begin(), part->sizes().end(), sizes_ + depth))
      return false;
    cpu::copy(part->view(), {out, whole->dtype, part->ndim(), part->shape->sizes(), whole->shape->strides() + depth});
    return true;
  }

  PyObject* data_;
  int64_t sizes_[kMaxDims];
  int ndim_ = 0;
  std::optional<DType> type_;
  int ragged_budget_ = 10000;
};

/// A new tensor with the values of a tensor, without its history.
TensorPtr copy_values(Tensor* tensor, std::optional<DType> dtype) {
  if (is_batched(tensor) || is_sparse(tensor))
    return alias((dtype ? cast_recorded(tensor, *dtype) : clone_recorded(tensor)).get());
  if (tensor->device == DeviceType::Meta)
    return empty(ShapePtr::borrow(tensor->shape), dtype.value_or(tensor->dtype),
                 has_no_shape(as_object(tensor)) ? DeviceType::Cpu : DeviceType::Meta);
  return dtype && *dtype != tensor->dtype ? cast(tensor, *dtype) : clone(tensor);
}

/// Where what was made of data goes: values of a GPU stay there unless another place is asked for.
Device place_for(const Tensor* tensor, std::optional<Device> wanted) {
  if (wanted) return place_of(*wanted);  // under vmap it is asked of a batched tensor
  const Device usual = default_device();
  return usual == DeviceType::Cpu && tensor->device.type == DeviceType::Cuda ? tensor->device : usual;
}

/// A tensor on the memory of an object that describes it as arrays of a GPU do; null for other objects.
TensorPtr device_array(PyObject* object) {
  if (!(Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE) || is_tensor(object)) return {};
  if (!PyObject_HasAttrString(object, "__cuda_array_interface__")) return {};
  Object module = checked(PyImport_ImportModule("adjoint.cuda._interop"));
  Object made = checked(PyObject_CallMethod(module.get(), "imported", "O", object));
  return TensorPtr::borrow(as_tensor(made.get()));
}

/// Gives a tensor that was made on the CPU the device of the options.
Object finish_data(TensorPtr tensor, const Options& options) {
  const Device place = place_for(tensor.get(), options.device);
  if (place != tensor->device && (place == DeviceType::Meta || tensor->device.holds_values())) {
    TensorPtr moved = empty(dense_shape(tensor->shape), tensor->dtype, place);
    if (place != DeviceType::Meta) copy_into(tensor.get(), moved.get());
    tensor = std::move(moved);
  }
  if (options.pinned) tensor = pinned(tensor.get());
  check_requires_grad(tensor->dtype, options.requires_grad);
  return finish(std::move(tensor), options);
}

/// `model` gives the type and the device that are not asked for; null: those of the data, and the default device.
PyObject* make_tensor_from(const Signature& signature, const char* warning, const Tensor* model, PyObject* const* args,
                           Py_ssize_t nargs, PyObject* kwnames) {
  return guarded([&] {
    Call call(signature, args, nargs, kwnames);
    Options options = call.options();
    if (is_tensor(call[0])) warn(warning);
    if (model) {
      options.device = options.place(model);
      if (!options.dtype) options.dtype = model->dtype;
    }
    TensorPtr result = tensor_from_data(call[0], options.dtype);
    return finish_data(std::move(result), options).take();
  });
}

PyObject* py_tensor(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("tensor", {"data"}, 1, {}, kAllOptions);
  return make_tensor_from(signature,
                          "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
                          "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
                          nullptr, args, nargs, kwnames);
}

/// The data itself where it is a tensor or an array, else a new tensor.
TensorPtr share_data(PyObject* data, std::optional<DType> dtype) {
  if (is_tensor(data)) {
    Tensor* tensor = as_tensor(data);
    return dtype && *dtype != tensor->dtype ? cast_recorded(tensor, *dtype) : TensorPtr::borrow(tensor);
  }
  if (TensorPtr shared = device_array(data)) return dtype ? cast(shared.get(), *dtype) : shared;
  if (!is_numpy_array(data)) return tensor_from_data(data, dtype);
  TensorPtr shared = from_numpy(data);
  return dtype ? cast(shared.get(), *dtype) : shared;
}

PyObject* py_as_tensor(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("as_tensor", {"data"}, 1, {}, kTypeAndDevice);
  return guarded([&] {
    Call call(signature, args, nargs, kwnames);
    Options options = call.options();
    TensorPtr result = share_data(call[0], options.dtype);
    const Device place = place_for(result.get(), options.device);
    if (place == DeviceType::Meta && result->device != DeviceType::Meta)
      return finish_data(std::move(result), options).take();
    if (place != result->device && result->device.holds_values()) result = moved_recorded(result.get(), place);
    return wrap(std::move(result)).take();
  });
}

/// A tensor on the memory of `object`, or null when it has none that a tensor can use.
TensorPtr alias_object(PyObject* object, std::optional<DType> dtype) {
  if (is_tensor(object)) return TensorPtr::borrow(as_tensor(object));
  if (TensorPtr shared = device_array(object)) return shared;
  if (is_numpy_array(object)) return from_numpy(object);
  if (is_numpy_scalar(object)) return {};
  if (is_dlpack_capsule(object)) return from_dlpack_capsule(object);
  if (PyObject_CheckBuffer(object)) return from_buffer(object, dtype.value_or(default_dtype()), -1, 0);
  return {};
}

PyObject* py_asarray(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("asarray", {"obj"}, 1, {"dtype", "device", "copy", "requires_grad"});
  return guarded([&] {
    Call call(signature, args, nargs, kwnames);
    std::optional<DType> dtype = call.has(1) ? static_cast<DType>(call.arg(1)) : std::optional<DType>();
    std::optional<Device> wanted;
    if (call.has(2)) wanted = to_device(call[2]);
    if (wanted == DeviceType::Meta) fail("asarray(): values are wanted, and meta has none: use device='cpu'");
    bool must_copy = call.flag(3);
    bool must_alias = call.has(3) && !must_copy;
    TensorPtr result = alias_object(call[0], dtype);
    bool was_tensor = is_tensor(call[0]);
    if (!result) {
      if (must_alias) fail(ErrorKind::Value, "can't alias arbitrary sequence into a tensor.");
      result = tensor_from_data(call[0], dtype);
      must_copy = false;
    }
    const Device place = place_for(result.get(), wanted);
    if (place != result->device && place.holds_values() && result->device.holds_values()) {
      if (must_alias)
        fail(ErrorKind::Value, "can't alias tensor from device '", to_string(result->device), "' to '",
             to_string(place), "'.");
      result = moved_recorded(result.get(), place);
      must_copy = false;
    }
    if (dtype && result->dtype != *dtype) {
      if (must_alias)
        fail(ErrorKind::Value, "can't alias tensor with dtype '", info(result->dtype).legacy_name, "' into dtype '",
             info(*dtype).legacy_name, "'.");
      result = cast_recorded(result.get(), *dtype);
    } else if (must_copy) {
      result = clone_recorded(result.get());
    }
    if (call.has(4)) {
      bool wanted = call.flag(4);
      check_requires_grad(result->dtype, wanted);
      if (!wanted && requires_grad(result.get())) result = alias(result.get());
      if (wanted && !requires_grad(result.get())) {
        if (was_tensor && result.get() == as_tensor(call[0])) result = alias(result.get());
        result->flags |= kRequiresGrad;
      }
    }
    return as_object(result.take());
  });
}

/// The elements of a storage, which are its bytes read as a type, not numbers to be converted; null for other objects.
TensorPtr read_storage(PyObject* data, std::optional<DType> dtype) {
  if (!(Py_TYPE(data)->tp_flags & Py_TPFLAGS_HEAPTYPE) || !PyObject_HasAttrString(data, "_read_as")) return {};
  Object elements = checked(PyObject_CallMethod(data, "_read_as", "O", dtype ? dtype_object(*dtype) : Py_None));
  // Anything may have an attribute of this name.
  return is_tensor(elements.get()) ? copy_values(as_tensor(elements.get()), {}) : TensorPtr();
}

}  // namespace

TensorPtr tensor_from_data(PyObject* data, std::optional<DType> dtype) {
  if (PyFloat_CheckExact(data) && (!dtype || is_float(*dtype)))
    return scalar_tensor(PyFloat_AS_DOUBLE(data), dtype.value_or(default_dtype()));
  if (is_tensor(data)) return copy_values(as_tensor(data), dtype);
  if (TensorPtr source = device_array(data)) return copy_values(source.get(), dtype);
  if (is_numpy_array(data)) {
    TensorPtr source = from_numpy(data, ArrayUse::Source);
    return copy_values(source.get(), dtype);
  }
  if (is_text(data)) fail_data_type(data);
  if (TensorPtr read = read_storage(data, dtype)) return read;
  NestedData nested(data);
  return nested.make(dtype ? *dtype : nested.infer());
}

PyObject* new_tensor(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("new_tensor", {"data"}, 1, {}, kAllOptions);
  return make_tensor_from(
      signature,
      "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
      "sourceTensor.detach().clone().requires_grad_(True), rather than tensor.new_tensor(sourceTensor).",
      as_tensor(self), args, nargs, kwnames);
}

PyMethodDef data_functions[] = {
    {"tensor", keyword_function(mode_function<py_tensor, "tensor">), kKeywordCall, help::kTensor},
    {"as_tensor", keyword_function(mode_function<py_as_tensor, "as_tensor">), kKeywordCall, help::kAsTensor},
    {"asarray", keyword_function(mode_function<py_asarray, "asarray">), kKeywordCall, help::kAsarray},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace adjoint::python
