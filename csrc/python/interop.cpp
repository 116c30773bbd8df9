// Numbers and lists, NumPy arrays, buffers and pickles of tensors.
#include "python/interop.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "core/help.h"
#include "core/lock.h"
#include "core/mode.h"
#include "core/sparse.h"
#include "cpu/copy.h"
#include "op/arg.h"
#include "op/recorded.h"
#include "op/sparse.h"
#include "ops/memory.h"
#include "python/creation.h"
#include "python/keywords.h"
#include "python/overridable.h"
#include "python/tensor_type.h"
#include "tape/history.h"
#include "transforms/batch.h"
#include "transforms/wrapped.h"
#include "types/types.h"

namespace adjoint::python {
namespace {

// ---- Elements as Python numbers

Object element_object(DType dtype, const char* data) {
  return dispatch_any(dtype, [&](auto tag) -> Object {
    using T = decltype(tag);
    // As a byte: memory that was never written holds more than 0 and 1.
    if constexpr (std::is_same_v<T, bool>) return checked(PyBool_FromLong(*data != 0));
    T value;
    std::memcpy(&value, data, sizeof(T));
    if constexpr (std::is_same_v<T, uint64_t>) {
      return checked(PyLong_FromUnsignedLongLong(value));
    } else if constexpr (std::is_integral_v<T>) {
      return checked(PyLong_FromLongLong(value));
    } else if constexpr (std::is_same_v<T, ComplexHalf>) {
      return checked(PyComplex_FromDoubles(float{value.real}, float{value.imaginary}));
    } else if constexpr (is_complex_v<T>) {
      return checked(PyComplex_FromDoubles(value.real(), value.imag()));
    } else {
      return checked(PyFloat_FromDouble(convert<double>(value)));
    }
  });
}

Object list_of(const Tensor* tensor, int dim, const char* data) {
  if (dim == tensor->ndim()) return element_object(tensor->dtype, data);
  int64_t size = tensor->size(dim);
  PyObject* made = PyList_New(size);
  if (!made) {
    PyErr_Clear();
    fail(ErrorKind::Memory, "tolist: not enough memory for a list of ", size, " items");
  }
  Object list = Object::steal(made);
  int64_t step = tensor->stride(dim) * itemsize(tensor->dtype);
  for (int64_t i = 0; i < size; ++i) PyList_SET_ITEM(list.get(), i, list_of(tensor, dim + 1, data + i * step).take());
  return list;
}

// ---- NumPy

PyObject* numpy_attribute(const char* name) {
  static Object module_name = checked(PyUnicode_InternFromString("numpy"));
  Object module = Object::steal(PyImport_GetModule(module_name.get()));
  PyObject* attribute = module ? PyObject_GetAttrString(module.get(), name) : nullptr;
  PyErr_Clear();  // NumPy may be half imported
  return attribute;
}

/// A type of NumPy, once NumPy has been imported by somebody; else null.
PyTypeObject* numpy_class(PyTypeObject*& cache, const char* name) {
  if (!cache) {
    PyObject* attribute = numpy_attribute(name);
    if (attribute && PyType_Check(attribute)) {
      cache = reinterpret_cast<PyTypeObject*>(attribute);
    } else {
      Py_XDECREF(attribute);
    }
  }
  return cache;
}

const char* buffer_format(DType dtype) {
  switch (dtype) {
    case DType::Float32: return "f";
    case DType::Float64: return "d";
    case DType::Float16: return "e";
    case DType::Complex64: return "Zf";
    case DType::Complex128: return "Zd";
    case DType::Int64: return sizeof(long) == 8 ? "l" : "q";
    case DType::Int32: return "i";
    case DType::Int16: return "h";
    case DType::Int8: return "b";
    case DType::UInt8: return "B";
    case DType::Bool: return "?";
    case DType::UInt16: return "H";
    case DType::UInt32: return "I";
    case DType::UInt64: return sizeof(long) == 8 ? "L" : "Q";
    default: return nullptr;
  }
}

std::string attribute_text(PyObject* object, const char* name) {
  Object attribute = checked(PyObject_GetAttrString(object, name));
  Object text = checked(PyObject_Str(attribute.get()));
  const char* utf8 = PyUnicode_AsUTF8(text.get());
  check(utf8 != nullptr);
  return utf8;
}

std::optional<DType> type_of_char(char code) {
  switch (code) {
    case 'f': return DType::Float32;
    case 'd': return DType::Float64;
    case 'e': return DType::Float16;
    case 'F': return DType::Complex64;
    case 'D': return DType::Complex128;
    case 'l': return sizeof(long) == 8 ? DType::Int64 : DType::Int32;
    case 'q': return DType::Int64;
    case 'i': return DType::Int32;
    case 'h': return DType::Int16;
    case 'b': return DType::Int8;
    case 'B': return DType::UInt8;
    case '?': return DType::Bool;
    case 'H': return DType::UInt16;
    case 'I': return DType::UInt32;
    case 'L': return sizeof(long) == 8 ? DType::UInt64 : DType::UInt32;
    case 'Q': return DType::UInt64;
    default: return std::nullopt;
  }
}

/// Ends the use of a buffer that a storage was made from.
void release_buffer(void* context) {
  auto* view = static_cast<Py_buffer*>(context);
  PyBuffer_Release(view);
  delete view;
}

/// A buffer that is released when it goes out of scope, unless a storage took it over.
class Buffer {
 public:
  Buffer(PyObject* object, int flags) : view_(new Py_buffer) {
    if (PyObject_GetBuffer(object, view_, flags) != 0) {
      delete view_;
      view_ = nullptr;
    }
  }
  ~Buffer() {
    if (view_) release_buffer(view_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  explicit operator bool() const { return view_ != nullptr; }
  const Py_buffer* operator->() const { return view_; }
  Py_buffer* take() { return std::exchange(view_, nullptr); }

 private:
  Py_buffer* view_;
};

void refuse_grad(Tensor* tensor, bool force) {
  if (is_wrapped(tensor))
    fail(".numpy() is not supported for tensor subclasses. Its class, ", Py_TYPE(as_object(tensor))->tp_name,
         ", defines __torch_dispatch__, and knows what it consists of.");
  refuse_batched(tensor);
  if (is_sparse(tensor))
    fail(ErrorKind::Type, "can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.");
  if (tensor->device == DeviceType::Meta || (tensor->device.type == DeviceType::Cuda && !force))
    fail(ErrorKind::Type, "can't convert ", to_string(tensor->device),
         " device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.");
  if (!force && recording() && requires_grad(tensor))
    fail(
        "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead. NumPy records no "
        "gradients: where "
        "they are wanted, use torch's functions.");
}

PyObject* method_numpy(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("numpy", {}, 0, {"force"});
  return guarded([&] {
    Call call(signature, args, nargs, kwnames);
    return to_numpy(as_tensor(self), call.flag(0)).take();
  });
}

PyObject* method_array(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("__array__", {"dtype", "copy"}, 0);
  return guarded([&] {
    Call call(signature, args, nargs, kwnames);
    Object array = to_numpy(as_tensor(self), false);
    if (call.has(0)) {
      Object astype = checked(PyObject_GetAttrString(array.get(), "astype"));
      Object arguments = checked(PyTuple_Pack(1, call[0]));
      Object keywords = checked(Py_BuildValue("{sO}", "copy", Py_False));
      Object converted = checked(PyObject_Call(astype.get(), arguments.get(), keywords.get()));
      if (call[1] == Py_False && converted.get() != array.get())
        fail(ErrorKind::Value,
             "Unable to avoid copy while creating an array as requested: the type has to be changed.");
      if (converted.get() != array.get()) return converted.take();
    }
    if (call[1] == Py_True) return checked(PyObject_CallMethod(array.get(), "copy", nullptr)).take();
    return array.take();
  });
}

PyObject* py_from_numpy(PyObject*, PyObject* array) {
  return guarded([&] {
    if (!is_numpy_array(array))
      fail(ErrorKind::Type, "expected np.ndarray (got ", Py_TYPE(array)->tp_name,
           "); tensor() and as_tensor() take lists and numbers");
    return as_object(from_numpy(array).take());
  });
}

PyObject* py_frombuffer(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("frombuffer", {"buffer"}, 1, {"dtype", "count", "offset", "requires_grad"});
  return guarded([&] {
    Call call(signature, args, nargs, kwnames);
    call.require(1);
    DType dtype = call.arg(1);
    int64_t count = call[2] ? static_cast<int64_t>(call.arg(2)) : -1;
    int64_t offset = call[3] ? static_cast<int64_t>(call.arg(3)) : 0;
    bool requires_grad = call.flag(4);
    check_requires_grad(dtype, requires_grad);
    TensorPtr result = from_buffer(call[0], dtype, count, offset);
    if (requires_grad) result->flags |= kRequiresGrad;
    return as_object(result.take());
  });
}

// ---- Copies and pickles

/// _rebuild(dtype, sizes, strides, data, requires_grad, cls=Tensor): what `reduce` asks for; strides are dense or None.
PyObject* py_rebuild(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("_rebuild", {"dtype", "size", "stride", "data", "requires_grad", "cls"}, 5);
  return guarded([&] {
    Call call(signature, args, nargs, kwnames);
    std::string name = call.arg(0);
    const DTypeInfo* found =
        std::find_if(kDTypes, kDTypes + kDTypeCount, [&](const DTypeInfo& entry) { return name == entry.name; });
    if (found == kDTypes + kDTypeCount) fail("_rebuild(): expected the name of a dtype; got '", name, "'");
    SizeList sizes = call.arg(1);
    ShapePtr shape = make_shape(sizes);
    if (call.has(2)) {
      SizeList strides = call.arg(2);
      if (strides.size() != sizes.size())
        fail("_rebuild(): expected as many strides as sizes; got ", strides.size(), " and ", sizes.size());
      shape = make_shape(sizes, strides);
      if (!is_dense(shape.get())) fail("_rebuild(): expected strides without gaps; got ", to_string(strides));
    }
    Buffer buffer(call[3], PyBUF_SIMPLE);
    check(static_cast<bool>(buffer));
    auto dtype = static_cast<DType>(found - kDTypes);
    int64_t nbytes = shape->numel * itemsize(dtype);
    if (buffer->len != nbytes) fail("_rebuild(): expected ", nbytes, " bytes of data; got ", buffer->len);
    bool grad = call.flag(4);
    check_requires_grad(dtype, grad);
    TensorPtr result = empty(std::move(shape), dtype, DeviceType::Cpu);
    std::memcpy(result->data, buffer->buf, static_cast<size_t>(nbytes));
    if (dtype == DType::Bool)  // other bytes than 0 and 1 are not values of bool
      for (int64_t i = 0; i < nbytes; ++i) result->as<uint8_t>()[i] = result->as<uint8_t>()[i] != 0;
    if (call.has(5)) {
      if (!PyType_Check(call[5])) call.arg(5).wrong_type("type");
      return make_subclass(reinterpret_cast<PyTypeObject*>(call[5]), result.get(), grad).take();
    }
    if (grad) result->flags |= kRequiresGrad;
    return as_object(result.take());
  });
}

PyObject* method_reduce(PyObject* self, PyObject* protocol) {
  return guarded(
      [&] { return reduce(as_tensor(self), static_cast<int>(to_int(protocol, "__reduce_ex__", "protocol"))).take(); });
}

PyObject* py_deepcopy(PyObject*, PyObject* object) {
  return guarded([&] {
    if (is_tensor(object) && is_batched(as_tensor(object))) return wrap(clone_recorded(as_tensor(object))).take();
    if (!is_tensor(object) || as_tensor(object)->device.holds_values())
      return wrap(deepcopy(Arg{object, "_deepcopy", "input"})).take();
    const Tensor* meta = as_tensor(object);
    return wrap(empty(ShapePtr::borrow(meta->shape), meta->dtype, meta->device)).take();
  });
}

PyMethodDef functions[] = {
    {"from_numpy", mode_function<py_from_numpy, "from_numpy">, METH_O, help::kFromNumpy},
    {"frombuffer", keyword_function(mode_function<py_frombuffer, "frombuffer">), kKeywordCall, help::kFrombuffer},
    {"_rebuild", keyword_function(py_rebuild), kKeywordCall,
     "_rebuild(dtype, size, stride, data, requires_grad): used by pickle."},
    {"_deepcopy", py_deepcopy, METH_O, "_deepcopy(input): the values on memory of their own, without history."},
    {nullptr, nullptr, 0, nullptr},
};

PyObject* rebuild_function;

/// The owner of an exported buffer. It holds the memory by a tensor of its own, because the exporting tensor may be
/// given other memory meanwhile (out=); and it exports the buffer again to those who ask.
struct Export {
  PyObject_VAR_HEAD
  Tensor* tensor;
  Py_ssize_t strides[1];  ///< in bytes, one for each dimension
};
PyTypeObject* export_type;

void export_dealloc(PyObject* self) {
  Py_XDECREF(as_object(reinterpret_cast<Export*>(self)->tensor));
  PyTypeObject* type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}
int export_getbuffer(PyObject* self, Py_buffer* view, int flags) {
  return tensor_getbuffer(as_object(reinterpret_cast<Export*>(self)->tensor), view, flags);
}

PyType_Slot export_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(export_dealloc)},
                              {Py_bf_getbuffer, reinterpret_cast<void*>(export_getbuffer)},
                              {Py_tp_doc, const_cast<char*>("The memory behind a buffer of a tensor.")},
                              {0, nullptr}};
PyType_Spec export_spec = {"torch._Export", sizeof(Export), sizeof(Py_ssize_t),
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, export_slots};

}  // namespace

// ---- Numbers and lists

/// Of a wrapped tensor, the number that its class says.
static Object item_by_class(Tensor* tensor) {
  static PyObject* asked = python_function("adjoint._wrapped", "item").take();
  return checked(call_python(asked, shown(as_object(tensor)).get()));
}
/// Of a wrapped tensor: it is its attributes.
static Object reduce_by_class(Tensor* tensor) {
  static PyObject* asked = python_function("adjoint._wrapped", "reduced").take();
  return checked(call_python(asked, shown(as_object(tensor)).get()));
}

Object item(Tensor* tensor) {
  if (tensor->device == DeviceType::Meta) fail("Tensor.item() cannot be called on meta tensors");
  if (is_batched(tensor) && !is_wrapped(tensor)) scalar_of(tensor);  // which refuses
  if (is_sparse(tensor)) return handle_sparse("item", {as_object(tensor)});
  if (tensor->numel() != 1)
    fail("a Tensor with ", tensor->numel(),
         " elements cannot be converted to Scalar; reduce it with sum() or mean(), index one "
         "element, or take tolist()");
  if (is_batched(tensor)) return item_by_class(tensor);
  TensorPtr here = in_program_memory(tensor);
  return element_object(tensor->dtype, here->data);
}

Object to_list(Tensor* tensor) {
  if (tensor->device == DeviceType::Meta) fail(ErrorKind::NotImplemented, "Cannot copy out of meta tensor; no data!");
  if (is_wrapped(tensor))
    fail(".tolist() is not supported for tensor subclasses, got ", Py_TYPE(as_object(tensor))->tp_name);
  refuse_batched(tensor);
  refuse_sparse(tensor);
  TensorPtr here = in_program_memory(tensor);
  return list_of(here.get(), 0, here->data);
}

// ---- NumPy and buffers

bool is_numpy_array(PyObject* object) {
  static PyTypeObject* type = nullptr;
  return numpy_class(type, "ndarray") && PyObject_TypeCheck(object, type);
}
bool is_numpy_scalar(PyObject* object) {
  static PyTypeObject* type = nullptr;
  return numpy_class(type, "generic") && PyObject_TypeCheck(object, type);
}

DType numpy_type(PyObject* object) {
  Object dtype = checked(PyObject_GetAttrString(object, "dtype"));
  std::string code = attribute_text(dtype.get(), "char");
  std::optional<DType> type = code.size() == 1 ? type_of_char(code[0]) : std::nullopt;
  if (!type) {
    Object scalar = checked(PyObject_GetAttrString(dtype.get(), "type"));
    fail(
        ErrorKind::Type, "can't convert np.ndarray of type ",
        PyType_Check(scalar.get()) ? reinterpret_cast<PyTypeObject*>(scalar.get())->tp_name : "?",
        ". The only supported types are: float64, float32, float16, complex64, complex128, int64, int32, int16, int8, "
        "uint64, uint32, uint16, uint8, and bool. Rows of different lengths, strings and None make such an array: give "
        "numbers with astype(), or one tensor for each row.");
  }
  return *type;
}

bool is_native(PyObject* array) {
  Object descriptor = checked(PyObject_GetAttrString(array, "dtype"));
  Object native = checked(PyObject_GetAttrString(descriptor.get(), "isnative"));
  return native.get() == Py_True;
}

void warn_read_only(bool& warned, const char* source) {
  if (std::exchange(warned, true)) return;
  std::string text =
      "The given " + std::string(source) +
      " is not writable, and tensors are always writable: writing to this tensor writes to memory that should not "
      "change. You may want to copy it to protect its data. This warning is shown once.";
  warn(text.c_str());
}

TensorPtr adopt(void* data, Sizes sizes, Sizes strides, DType dtype, FreeMemory free_memory, void* context,
                ArrayUse use, Device device) {
  int64_t reach = 0;
  ShapePtr shape = make_shape(sizes, strides);
  for (size_t i = 0; shape->numel > 0 && i < sizes.size(); ++i) reach += (sizes[i] - 1) * strides[i];
  int64_t size = itemsize(dtype);
  auto nbytes = static_cast<size_t>(shape->numel > 0 ? (reach + 1) * size : 0);
  auto storage = StoragePtr::steal(adopt_memory(data, nbytes, free_memory, context));
  int64_t alignment = is_complex(dtype) ? size / 2 : size;
  if (shape->numel == 0 || reinterpret_cast<uintptr_t>(data) % alignment == 0) {
    TensorPtr tensor = make_tensor(std::move(storage), static_cast<char*>(data), std::move(shape), dtype, device);
    if (mode_flags & kInferenceMode) tensor->flags |= kInferenceTensor;
    return tensor;
  }
  if (device != DeviceType::Cpu)
    fail("the elements are not aligned in memory of ", to_string(device), "; copy them first");
  if (use == ArrayUse::Shared)
    warn(
        "the elements are not aligned in memory: the tensor gets a copy of them and does not share memory with its "
        "source");
  // Whole bytes may be copied from anywhere; rows of them, as the strides say.
  TensorPtr result = empty(sizes, dtype, DeviceType::Cpu);
  int64_t byte_sizes[kMaxDims + 1], from[kMaxDims + 1], to[kMaxDims + 1];
  int ndim = static_cast<int>(sizes.size());
  for (int i = 0; i < ndim; ++i) {
    byte_sizes[i] = sizes[i];
    from[i] = strides[i] * size;
    to[i] = result->stride(i) * size;
  }
  if (ndim == kMaxDims) fail("unaligned memory of ", ndim, " dimensions is not supported; copy it first");
  byte_sizes[ndim] = size;
  from[ndim] = to[ndim] = 1;
  cpu::copy({static_cast<char*>(data), DType::UInt8, ndim + 1, byte_sizes, from},
            {result->data, DType::UInt8, ndim + 1, byte_sizes, to});
  return result;
}

TensorPtr from_numpy(PyObject* array, ArrayUse use) {
  DType dtype = numpy_type(array);
  if (!is_native(array))
    fail(ErrorKind::Value,
         "given numpy array has byte order different from the native byte order. Conversion between byte orders is "
         "currently not supported; use array.astype(array.dtype.newbyteorder('='))");
  Buffer buffer(array, PyBUF_STRIDES);
  check(static_cast<bool>(buffer));
  int64_t size = itemsize(dtype);
  int64_t strides[kMaxDims];
  if (buffer->ndim > kMaxDims)
    fail(ErrorKind::Value, "from_numpy: at most ", kMaxDims, " dimensions are supported; got ", buffer->ndim);
  for (int i = 0; i < buffer->ndim; ++i) {
    if (buffer->strides[i] % size != 0)
      fail(ErrorKind::Value,
           "given numpy array strides not a multiple of the element byte size. Copy the numpy array to reallocate the "
           "memory.");
    if (buffer->strides[i] < 0)
      fail(ErrorKind::Value,
           "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
           "currently supported. (You can probably work around this by making a copy of your array  with "
           "array.copy().) ");
    strides[i] = buffer->strides[i] / size;
  }
  static bool warned = false;
  if (buffer->readonly && use == ArrayUse::Shared) warn_read_only(warned, "NumPy array");
  auto ndim = static_cast<size_t>(buffer->ndim);
  static_assert(sizeof(Py_ssize_t) == sizeof(int64_t));
  int64_t sizes[kMaxDims];
  std::copy(buffer->shape, buffer->shape + ndim, sizes);
  checked_numel({sizes, ndim});
  void* data = buffer->buf;
  return adopt(data, {sizes, ndim}, {strides, ndim}, dtype, release_buffer, buffer.take(), use);
}

TensorPtr from_buffer(PyObject* object, DType dtype, int64_t count, int64_t offset) {
  if (!PyObject_CheckBuffer(object)) fail(ErrorKind::Value, "object does not implement Python buffer protocol.");
  Buffer buffer(object, PyBUF_WRITABLE);
  bool writable = static_cast<bool>(buffer);
  if (!writable) PyErr_Clear();
  Buffer fallback(writable ? Py_None : object, PyBUF_SIMPLE);
  if (writable) PyErr_Clear();  // None has no buffer
  Buffer& view = writable ? buffer : fallback;
  if (!view) {
    PyErr_Clear();
    fail("could not retrieve buffer from object: a contiguous one is needed");
  }
  int64_t size = itemsize(dtype), length = view->len;
  if (length == 0 || count == 0)
    fail(ErrorKind::Value, "both buffer length (", length, ") and count (", count, ") must not be 0");
  if (offset < 0 || offset >= length)
    fail(ErrorKind::Value, "offset (", offset, " bytes) must be non-negative and no greater than buffer length (",
         length, " bytes) minus 1");
  if (count > 0 && count > (length - offset) / size)
    fail(ErrorKind::Value, "requested buffer length (", count, " * ", size, " bytes) after offset (", offset,
         " bytes) must not be greater than actual buffer length (", length, " bytes)");
  if (count < 0 && (length - offset) % size != 0)
    fail(ErrorKind::Value, "buffer length (", length - offset, " bytes) after offset (", offset,
         " bytes) must be a multiple of element size (", size, ")");
  if (count < 0) count = (length - offset) / size;
  static bool warned = false;
  if (!writable) warn_read_only(warned, "buffer");
  int64_t stride = 1;
  char* data = static_cast<char*>(view->buf) + offset;
  return adopt(data, {&count, 1}, {&stride, 1}, dtype, release_buffer, view.take());
}

int tensor_getbuffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;
  return guarded(
      [&] {
        Tensor* tensor = as_tensor(self);
        auto refuse = [](const char* reason) { fail(ErrorKind::Buffer, reason); };
        refuse_batched(tensor);
        refuse_sparse(tensor);
        if (may_override(self) && !(mode_flags & kTypesOff)) refuse("a subclass gives its values by __array__()");
        if (tensor->device == DeviceType::Meta) refuse("a tensor on the meta device has no memory to export");
        if (tensor->device != DeviceType::Cpu) refuse("the tensor's memory is on a GPU, use tensor.cpu()");
        if (requires_grad(tensor)) refuse("Can't export tensors that require gradient, use tensor.detach()");
        const char* format = buffer_format(tensor->dtype);
        if (!format)
          fail(ErrorKind::Buffer, "Got unsupported ScalarType ", info(tensor->dtype).legacy_name,
               ": the buffer protocol has no such type, use tensor.float()");
        bool strided = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
        auto asks = [&](int request) { return (flags & request) == request; };
        bool packed = !strided || asks(PyBUF_C_CONTIGUOUS) || asks(PyBUF_F_CONTIGUOUS) || asks(PyBUF_ANY_CONTIGUOUS);
        if (packed && !tensor->contiguous()) refuse("the tensor is not contiguous, use tensor.contiguous()");
        if (asks(PyBUF_F_CONTIGUOUS) && tensor->ndim() > 1) refuse("the tensor is not Fortran contiguous");
        int ndim = tensor->ndim();
        auto owner = Object::steal(reinterpret_cast<PyObject*>(PyObject_NewVar(Export, export_type, ndim)));
        check(static_cast<bool>(owner));
        auto* exported = reinterpret_cast<Export*>(owner.get());
        exported->tensor = nullptr;
        exported->tensor = alias(tensor).take();
        exported->tensor->flags |= kLent;
        for (int i = 0; i < ndim; ++i) exported->strides[i] = tensor->stride(i) * itemsize(tensor->dtype);
        view->buf = tensor->data;
        view->len = tensor->numel() * itemsize(tensor->dtype);
        view->readonly = 0;
        view->itemsize = itemsize(tensor->dtype);
        view->format = flags & PyBUF_FORMAT ? const_cast<char*>(format) : nullptr;
        view->ndim = ndim;
        view->shape = flags & PyBUF_ND ? const_cast<Py_ssize_t*>(exported->tensor->shape->sizes()) : nullptr;
        view->strides = strided ? exported->strides : nullptr;
        view->suboffsets = nullptr;
        view->internal = nullptr;
        view->obj = owner.take();
        return 0;
      },
      -1);
}

Object to_numpy(Tensor* tensor, bool force) {
  refuse_grad(tensor, force);
  if (!buffer_format(tensor->dtype))
    fail(ErrorKind::Type, "Got unsupported ScalarType ", info(tensor->dtype).legacy_name,
         "; convert it first: tensor.to(dtype).numpy()");
  static Object as_array = [] {
    Object numpy = checked(PyImport_ImportModule("numpy"));
    return checked(PyObject_GetAttrString(numpy.get(), "asarray"));
  }();
  TensorPtr here = in_program_memory(tensor);
  TensorPtr plain = requires_grad(here.get()) ? alias(here.get()) : here;
  Object view = checked(PyMemoryView_FromObject(as_object(plain.get())));
  make_notes(here->storage).fixed = true;
  return checked(PyObject_CallOneArg(as_array.get(), view.get()));
}

// ---- Copies and pickles

TensorPtr deepcopy(Tensor* tensor) { return is_sparse(tensor) ? alias(clone_recorded(tensor).get()) : clone(tensor); }

Object reduce(Tensor* tensor, int protocol) {
  if (is_wrapped(tensor)) return reduce_by_class(tensor);
  refuse_batched(tensor);
  if (is_sparse(tensor)) return handle_sparse("reduced", {as_object(tensor)});
  if (tensor->device == DeviceType::Meta)
    fail("pickle: a tensor on the meta device holds no values; make it anew with torch.empty");
  if (tensor->device.type == DeviceType::Cuda) {
    static PyObject* function = python_function("adjoint.cuda._tensors", "reduced").take();
    return checked(call_python(function, as_object(tensor)));
  }
  bool dense = is_dense(tensor->shape);
  TensorPtr packed = dense ? TensorPtr::borrow(tensor) : contiguous(tensor);
  int64_t nbytes = packed->numel() * itemsize(packed->dtype);
  Object data;
  if (protocol >= 5) {
    // The bytes themselves, which a pickler may keep out of the stream.
    TensorPtr bytes =
        make_tensor(StoragePtr::borrow(packed->storage), packed->data, make_shape({&nbytes, 1}), DType::UInt8);
    data = checked(PyPickleBuffer_FromObject(as_object(bytes.get())));
  } else {
    data = checked(PyBytes_FromStringAndSize(packed->data, nbytes));
  }
  Object sizes = make_tuple(tensor->sizes());
  Object strides = dense && !tensor->shape->standard ? make_tuple(tensor->strides()) : Object::borrow(Py_None);
  PyObject* grad = requires_grad(tensor) ? Py_True : Py_False;
  auto* type = reinterpret_cast<PyObject*>(Py_TYPE(as_object(tensor)));
  PyObject* derived = type == reinterpret_cast<PyObject*>(tensor_type) ? Py_None : type;
  Object arguments = checked(
      Py_BuildValue("(sOOOOO)", info(tensor->dtype).name, sizes.get(), strides.get(), data.get(), grad, derived));
  if (tensor->dict && PyDict_Size(tensor->dict) > 0)
    return checked(PyTuple_Pack(3, rebuild_function, arguments.get(), tensor->dict));
  return checked(PyTuple_Pack(2, rebuild_function, arguments.get()));
}

static PyObject* overridable_reduce(PyObject* self, PyObject* protocol) {
  return do_alone<"__reduce_ex__">({self, protocol}, [&] { return method_reduce(self, protocol); });
}

static PyMethodDef interop_methods[] = {
    {"numpy", keyword_function(overridable<method_numpy, "numpy">), kKeywordCall, help::kNumpy},
    {"__array__", keyword_function(overridable<method_array, "__array__">), kKeywordCall,
     "__array__(dtype=None, copy=None): what NumPy asks for."},
    {"__reduce_ex__", overridable_reduce, METH_O, "__reduce_ex__(protocol): what pickle asks for."},
    {nullptr, nullptr, 0, nullptr},
};

void init_interop(PyObject* module) {
  export_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&export_spec)).take());
  check(PyModule_AddFunctions(module, functions) == 0);
  check(PyModule_AddFunctions(module, dlpack_functions) == 0);
  rebuild_function = checked(PyObject_GetAttrString(module, "_rebuild")).take();
  // Before NumPy's numbers and arrays where both could answer an operator.
  check(PyObject_SetAttrString(reinterpret_cast<PyObject*>(tensor_type), "__array_priority__",
                               checked(PyLong_FromLong(1000)).get()) == 0);
  for (PyMethodDef* table : {interop_methods, dlpack_methods})
    for (PyMethodDef* method = table; method->ml_name; ++method) {
      Object descriptor = checked(PyDescr_NewMethod(tensor_type, method));
      check(PyObject_SetAttrString(reinterpret_cast<PyObject*>(tensor_type), method->ml_name, descriptor.get()) == 0);
    }
}

}  // namespace adjoint::python
