// Tensors through DLPack capsules, both ways and without copies.
#include "python/dlpack.h"

#include <memory>

#include "core/help.h"
#include "core/sparse.h"
#include "ops/memory.h"
#include "python/creation.h"
#include "python/interop.h"
#include "tape/node.h"
#include "types/types.h"

namespace adjoint::python {
namespace {

using namespace dlpack;

constexpr Version kVersion = {1, 0};

/// The names that capsules bear before and after they were consumed, by the kind of structure inside.
template <class Managed>
inline constexpr const char* kName = "dltensor";
template <>
inline constexpr const char* kName<VersionedTensor> = "dltensor_versioned";
template <class Managed>
inline constexpr const char* kUsedName = "used_dltensor";
template <>
inline constexpr const char* kUsedName<VersionedTensor> = "used_dltensor_versioned";

// ---- Out

DataType type_code(DType dtype) {
  auto bits = static_cast<uint8_t>(itemsize(dtype) * 8);
  switch (dtype) {
    case DType::Bool: return {kBool, 8, 1};
    case DType::UInt8: return {kUInt, 8, 1};
    case DType::BFloat16: return {kBfloat, 16, 1};
    case DType::UInt16:
    case DType::UInt32:
    case DType::UInt64: return {kUInt, bits, 1};
    case DType::Float8E4M3FN: return {kFloat8E4M3FN, 8, 1};
    case DType::Float8E4M3FNUZ: return {kFloat8E4M3FNUZ, 8, 1};
    case DType::Float8E5M2: return {kFloat8E5M2, 8, 1};
    case DType::Float8E5M2FNUZ: return {kFloat8E5M2FNUZ, 8, 1};
    case DType::Float8E8M0FNU: return {kFloat8E8M0FNU, 8, 1};
    default: return {static_cast<uint8_t>(is_complex(dtype) ? kComplex : is_float(dtype) ? kFloat : kInt), bits, 1};
  }
}

/// What a consumer holds: the structure it reads, the geometry it points at, and the memory.
template <class Managed>
struct Exported {
  Managed managed{};
  int64_t geometry[2 * kMaxDims];
  StoragePtr storage;
};

/// Consumers may call this from any thread, with or without the interpreter lock.
template <class Managed>
void delete_exported(Managed* managed) {
  if (!Py_IsInitialized()) return;  // the process ends, and its memory with it
  PyGILState_STATE state = in_python(PyGILState_Ensure);
  delete static_cast<Exported<Managed>*>(managed->context);
  PyGILState_Release(state);
}

/// A capsule that nobody consumed still owns its content.
template <class Managed>
void delete_capsule(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, kName<Managed>)) return;
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, kName<Managed>));
  managed->deleter(managed);
}

template <class Managed>
Object export_tensor(Tensor* tensor, bool copied) {
  auto content = std::make_unique<Exported<Managed>>();
  int ndim = tensor->ndim();
  std::copy(tensor->shape->sizes(), tensor->shape->sizes() + ndim, content->geometry);
  std::copy(tensor->shape->strides(), tensor->shape->strides() + ndim, content->geometry + ndim);
  content->storage = StoragePtr::borrow(tensor->storage);
  make_notes(tensor->storage).lent = true;
  content->managed.tensor = {
      tensor->data, {kCpu, 0}, ndim, type_code(tensor->dtype), content->geometry, content->geometry + ndim, 0};
  content->managed.context = content.get();
  content->managed.deleter = delete_exported<Managed>;
  if constexpr (std::is_same_v<Managed, VersionedTensor>) {
    content->managed.version = kVersion;
    if (copied) content->managed.flags = kIsCopied;
  }
  Object capsule = checked(PyCapsule_New(&content->managed, kName<Managed>, delete_capsule<Managed>));
  content.release();
  return capsule;
}

// ---- In

std::optional<DType> read_type(DataType type) {
  if (type.lanes != 1) return std::nullopt;
  for (int i = 0; i < kDTypeCount; ++i) {
    DataType known = type_code(static_cast<DType>(i));
    if (known.code == type.code && known.bits == type.bits) return static_cast<DType>(i);
  }
  return std::nullopt;
}

/// Checks everything before the capsule is consumed, so that on an error it still owns its content.
template <class Managed>
TensorPtr import_capsule(PyObject* capsule) {
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, kName<Managed>));
  check(managed != nullptr);
  const DLTensor& tensor = managed->tensor;
  if constexpr (std::is_same_v<Managed, VersionedTensor>) {
    if (managed->version.major != kVersion.major)
      fail(ErrorKind::Buffer, "from_dlpack: version ", kVersion.major, " of DLPack is supported; got ",
           managed->version.major);
    static bool warned = false;
    if (managed->flags & kReadOnly) warn_read_only(warned, "DLPack capsule");
  }
  if (tensor.device.type != kCpu)
    fail(ErrorKind::Buffer, "from_dlpack: expected memory of the CPU; got device type ", tensor.device.type);
  std::optional<DType> dtype = read_type(tensor.dtype);
  if (!dtype)
    fail(ErrorKind::Buffer, "from_dlpack: unsupported data type; got code ", int{tensor.dtype.code}, " with ",
         int{tensor.dtype.bits}, " bits");
  if (tensor.ndim < 0 || tensor.ndim > kMaxDims)
    fail(ErrorKind::Buffer, "from_dlpack: at most ", kMaxDims, " dimensions are supported; got ", tensor.ndim);
  auto ndim = static_cast<size_t>(tensor.ndim);
  Sizes sizes(tensor.shape, ndim);
  ShapePtr dense = make_shape(sizes);
  Sizes strides = tensor.strides ? Sizes(tensor.strides, ndim) : dense->stride_span();
  for (size_t i = 0; i < ndim; ++i)
    if (strides[i] < 0)
      fail(ErrorKind::Value, "from_dlpack: negative strides are not supported; got ", to_string(strides),
           "; copy the array first");
  if (!tensor.data && dense->numel > 0) fail(ErrorKind::Buffer, "from_dlpack: the capsule holds no memory");
  check(PyCapsule_SetName(capsule, kUsedName<Managed>) == 0);
  auto free_memory = [](void* context) {
    auto* owned = static_cast<Managed*>(context);
    if (owned->deleter) owned->deleter(owned);
  };
  return adopt(static_cast<char*>(tensor.data) + tensor.byte_offset, sizes, strides, *dtype, free_memory, managed);
}

/// Calls ext.__dlpack__, first as version 1 says, then without the arguments that older libraries do not know.
Object call_dlpack(PyObject* source, PyObject* copy) {
  Object method = checked(PyObject_GetAttrString(source, "__dlpack__"));
  Object nothing = checked(PyTuple_New(0));
  Object keywords = checked(
      Py_BuildValue("{s(ii)}", "max_version", static_cast<int>(kVersion.major), static_cast<int>(kVersion.minor)));
  if (copy != Py_None) check(PyDict_SetItemString(keywords.get(), "copy", copy) == 0);
  Object capsule = Object::steal(in_python([&] { return PyObject_Call(method.get(), nothing.get(), keywords.get()); }));
  if (capsule) return capsule;
  if (!PyErr_ExceptionMatches(PyExc_TypeError) || copy != Py_None) fail_python();
  PyErr_Clear();
  return checked(call_python(method.get()));
}

PyObject* py_from_dlpack(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("from_dlpack", {"ext_tensor"}, 1, {"device", "copy"});
  return guarded([&] {
    Call call(signature, args, nargs, kwnames);
    PyObject* source = call[0];
    if (call.has(1) && to_device(call[1]) != DeviceType::Cpu) fail("from_dlpack: only device='cpu' is supported");
    PyObject* copy = call.has(2) ? call[2] : Py_None;
    if (copy != Py_None) static_cast<void>(call.flag(2));
    Object capsule = Object::borrow(source);
    if (!PyCapsule_CheckExact(source) && PyObject_HasAttrString(source, "__dlpack__"))
      capsule = call_dlpack(source, copy);
    return as_object(from_dlpack_capsule(capsule.get()).take());
  });
}

PyObject* method_dlpack(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("__dlpack__", {}, 0, {"stream", "max_version", "dl_device", "copy"});
  return guarded([&] {
    Call call(signature, args, nargs, kwnames);
    if (call.has(0) && static_cast<int64_t>(call.arg(0)) != -1) {
      PyErr_SetString(PyExc_AssertionError, "stream should be None on cpu.");
      fail_python();
    }
    if (call.has(2)) {
      Object type = checked(PySequence_GetItem(call[2], 0));
      if (to_int(type.get(), "__dlpack__", "dl_device") != kCpu)
        fail(ErrorKind::Buffer, "__dlpack__: only the CPU, device (1, 0), is supported");
    }
    bool copy = call.flag(3);
    return to_dlpack(as_tensor(self), call.has(1) ? call[1] : Py_None, copy).take();
  });
}

PyObject* method_dlpack_device(PyObject* self, PyObject*) {
  return guarded([&] {
    if (as_tensor(self)->device == DeviceType::Meta) fail(ErrorKind::Value, "Unknown device type meta for Dlpack");
    return Py_BuildValue("(ii)", static_cast<int>(kCpu), 0);
  });
}

}  // namespace

Object to_dlpack(Tensor* tensor, PyObject* max_version, bool copy) {
  refuse_batched(tensor);
  refuse_sparse(tensor);
  if (requires_grad(tensor)) fail(ErrorKind::Buffer, "Can't export tensors that require gradient, use tensor.detach()");
  if (tensor->device == DeviceType::Meta) fail(ErrorKind::Buffer, "Cannot pack tensors on meta");
  TensorPtr source = copy ? clone(tensor) : TensorPtr::borrow(tensor);
  bool versioned = false;
  if (max_version != Py_None) {
    Object major = checked(PySequence_GetItem(max_version, 0));
    versioned = to_int(major.get(), "__dlpack__", "max_version") >= kVersion.major;
  }
  return versioned ? export_tensor<VersionedTensor>(source.get(), copy)
                   : export_tensor<ManagedTensor>(source.get(), copy);
}

bool is_dlpack_capsule(PyObject* object) {
  return PyCapsule_CheckExact(object) &&
         (PyCapsule_IsValid(object, kName<ManagedTensor>) || PyCapsule_IsValid(object, kName<VersionedTensor>));
}

TensorPtr from_dlpack_capsule(PyObject* capsule) {
  if (!is_dlpack_capsule(capsule))
    fail(
        "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so you might "
        "have already "
        "constructed a tensor from it once.");
  return PyCapsule_IsValid(capsule, kName<VersionedTensor>) ? import_capsule<VersionedTensor>(capsule)
                                                            : import_capsule<ManagedTensor>(capsule);
}

PyMethodDef dlpack_methods[] = {
    {"__dlpack__", keyword_function(method_dlpack), kKeywordCall,
     "__dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None): a DLPack capsule."},
    {"__dlpack_device__", method_dlpack_device, METH_NOARGS, "__dlpack_device__(): (1, 0), the CPU."},
    {nullptr, nullptr, 0, nullptr},
};

PyMethodDef dlpack_functions[] = {
    {"from_dlpack", keyword_function(py_from_dlpack), kKeywordCall, help::kFromDlpack},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace adjoint::python
