// Tensors through DLPack capsules, both ways and without copies.
#include "python/dlpack.h"

#include <memory>

#include "core/batched.h"
#include "core/help.h"
#include "core/sparse.h"
#include "cuda/runtime.h"
#include "cuda/streams.h"
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

dlpack::Device code_of(adjoint::Device device) {
  if (device.type == DeviceType::Cuda) return {kCuda, device.index};
  return {kCpu, 0};
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
  content->managed.tensor = {tensor->data,      code_of(tensor->device),  ndim, type_code(tensor->dtype),
                             content->geometry, content->geometry + ndim, 0};
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

adjoint::Device read_device(dlpack::Device device) {
  if (device.type == kCpu || device.type == kCudaHost) return {};
  if (device.type != kCuda && device.type != kCudaManaged)
    fail(ErrorKind::Buffer, "from_dlpack: expected memory of the CPU or of a GPU; got device type ", device.type);
  if (device.id < 0 || device.id >= cuda::device_count())
    fail(ErrorKind::Buffer, "from_dlpack: the memory is on GPU ", device.id, ", and there are ", cuda::device_count(),
         " that can be used");
  prepare_cuda();
  return {DeviceType::Cuda, static_cast<uint8_t>(device.id)};
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
  const adjoint::Device device = read_device(tensor.device);
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
  return adopt(static_cast<char*>(tensor.data) + tensor.byte_offset, sizes, strides, *dtype, free_memory, managed,
               ArrayUse::Shared, device);
}

/// The stream that will use what a library with a GPU hands out; none for memory of the CPU. 1 is the default stream.
Object stream_for(PyObject* source) {
  if (!cuda::why_unavailable().empty() || !PyObject_HasAttrString(source, "__dlpack_device__")) return {};
  Object place = checked(PyObject_CallMethod(source, "__dlpack_device__", nullptr));
  int type = 0, index = 0;
  check(PyArg_ParseTuple(place.get(), "ii", &type, &index));
  if (type != kCuda || index < 0 || index >= cuda::device_count()) return {};
  const auto stream = reinterpret_cast<uintptr_t>(cuda::current_stream(index));
  return checked(PyLong_FromUnsignedLongLong(stream ? stream : 1));
}

/// Lets a consumer's stream wait for what was queued so far; None is the default stream.
void hand_over(adjoint::Device device, PyObject* number) {
  const long long given = number == Py_None ? 1 : PyLong_AsLongLong(number);
  check(given != -1 || !PyErr_Occurred());
  if (given == -1) return;
  if (given == 0)
    fail(ErrorKind::Buffer, "unsupported stream on CUDA: 0; the default stream is 1, and 2 the thread's own");
  if (given == 2) fail(ErrorKind::Buffer, "per-thread default stream is not supported.");
  auto* theirs = given == 1 ? nullptr : reinterpret_cast<cuda::Stream>(static_cast<uintptr_t>(given));
  cuda::Stream ours = cuda::current_stream(device);
  if (theirs == ours) return;
  cuda::follow(device.index, ours, device.index, theirs);
}

/// Calls ext.__dlpack__, first as version 1 says, then without the arguments that older libraries do not know, the
/// stream last of all.
Object call_dlpack(PyObject* source, PyObject* copy) {
  Object method = checked(PyObject_GetAttrString(source, "__dlpack__"));
  Object nothing = checked(PyTuple_New(0));
  Object keywords = checked(
      Py_BuildValue("{s(ii)}", "max_version", static_cast<int>(kVersion.major), static_cast<int>(kVersion.minor)));
  if (copy != Py_None) check(PyDict_SetItemString(keywords.get(), "copy", copy) == 0);
  const Object stream = stream_for(source);
  if (stream) check(PyDict_SetItemString(keywords.get(), "stream", stream.get()) == 0);
  auto call = [&] {
    return Object::steal(in_python([&] { return PyObject_Call(method.get(), nothing.get(), keywords.get()); }));
  };
  if (Object capsule = call()) return capsule;
  if (!PyErr_ExceptionMatches(PyExc_TypeError) || copy != Py_None) fail_python();
  PyErr_Clear();
  if (stream) {
    check(PyDict_DelItemString(keywords.get(), "max_version") == 0);
    if (Object capsule = call()) return capsule;
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) fail_python();
    PyErr_Clear();
  }
  return checked(call_python(method.get()));
}

PyObject* py_from_dlpack(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("from_dlpack", {"ext_tensor"}, 1, {"device", "copy"});
  return guarded([&] {
    Call call(signature, args, nargs, kwnames);
    PyObject* source = call[0];
    std::optional<adjoint::Device> wanted;
    if (call.has(1)) wanted = to_device(call[1]);
    if (wanted == DeviceType::Meta) fail("from_dlpack: only devices with values are supported; use device='cpu'");
    PyObject* copy = call.has(2) ? call[2] : Py_None;
    if (copy != Py_None) static_cast<void>(call.flag(2));
    Object capsule = Object::borrow(source);
    if (!PyCapsule_CheckExact(source) && PyObject_HasAttrString(source, "__dlpack__"))
      capsule = call_dlpack(source, copy);
    TensorPtr result = from_dlpack_capsule(capsule.get());
    if (wanted && result->device != *wanted) {
      if (copy == Py_False)
        fail(ErrorKind::Value, "cannot move tensor from ", to_string(result->device), " to ", to_string(*wanted),
             " without copying. Set copy=True is needed.");
      TensorPtr moved = empty(dense_shape(result->shape), result->dtype, *wanted);
      copy_into(result.get(), moved.get());
      result = std::move(moved);
    }
    return as_object(result.take());
  });
}

PyObject* method_dlpack(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("__dlpack__", {}, 0, {"stream", "max_version", "dl_device", "copy"});
  return guarded([&] {
    Call call(signature, args, nargs, kwnames);
    const adjoint::Device device = as_tensor(self)->device;
    if (device.type == DeviceType::Cuda) {
      if (call[0]) hand_over(device, call[0]);
    } else if (call.has(0) && static_cast<int64_t>(call.arg(0)) != -1) {
      PyErr_SetString(PyExc_AssertionError, "stream should be None on cpu.");
      fail_python();
    }
    if (call.has(2)) {
      Object type = checked(PySequence_GetItem(call[2], 0));
      const int64_t asked = to_int(type.get(), "__dlpack__", "dl_device");
      if (asked != code_of(device).type) {
        if (asked != kCpu)
          fail(ErrorKind::Buffer, "__dlpack__: the tensor is on ", to_string(device),
               ", and only its own device and the CPU, (1, 0), are supported");
        if (call.has(3) && !call.flag(3))
          fail(ErrorKind::Value, "cannot move tensor from ", to_string(device), " to cpu without copying");
        return to_dlpack(in_program_memory(as_tensor(self)).get(), call.has(1) ? call[1] : Py_None, false).take();
      }
    }
    bool copy = call.flag(3);
    return to_dlpack(as_tensor(self), call.has(1) ? call[1] : Py_None, copy).take();
  });
}

PyObject* method_dlpack_device(PyObject* self, PyObject*) {
  return guarded([&] {
    if (as_tensor(self)->device == DeviceType::Meta) fail(ErrorKind::Value, "Unknown device type meta for Dlpack");
    const dlpack::Device device = code_of(place_of(as_tensor(self)->device));
    return Py_BuildValue("(ii)", static_cast<int>(device.type), static_cast<int>(device.id));
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
    {"__dlpack_device__", method_dlpack_device, METH_NOARGS,
     "__dlpack_device__(): (1, 0), the CPU; (2, 0), the first GPU."},
    {nullptr, nullptr, 0, nullptr},
};

PyMethodDef dlpack_functions[] = {
    {"from_dlpack", keyword_function(py_from_dlpack), kKeywordCall, help::kFromDlpack},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace adjoint::python
