// Tensor objects: allocation and recycling, copies and aliases.
#include "core/tensor.h"
#include "core/batched.h"

#include <algorithm>
#include <new>

#include "core/batched.h"
#include "core/mode.h"
#include "core/tangent.h"

namespace adjoint {

PyTypeObject* tensor_type = nullptr;
thread_local ADJOINT_FAST_TLS constinit uint32_t mode_flags = 0;
thread_local constinit AutocastState autocast_state;
thread_local constinit bool non_blocking_copies = false, frees_kept_values = false;

namespace {

DType default_dtype_ = DType::Float32;

constexpr int kFreeTensors = 1024;
Tensor* free_tensors[kFreeTensors];
int free_tensor_count = 0;

constexpr int kFreeExtras = 256;
TensorExtra* free_extras[kFreeExtras];
int free_extra_count = 0;

void release_version(OwnVersion* version) {
  if (--version->refs == 0) delete version;
}

Tensor* allocate_tensor() {
  if (free_tensor_count > 0) {
    Tensor* tensor = free_tensors[--free_tensor_count];
    Py_INCREF(tensor_type);
    _Py_NewReference(as_object(tensor));
    return tensor;
  }
  Tensor* tensor = PyObject_GC_New(Tensor, tensor_type);
  if (!tensor) throw Error(ErrorKind::Python, "");
  return tensor;
}

/// Takes the references to the storage and the shape once the object is there.
inline TensorPtr new_tensor(StoragePtr& storage, char* data, ShapePtr& shape, DType dtype, Device device,
                            uint8_t flags) {
  Tensor* tensor = allocate_tensor();
  tensor->dict = nullptr;
  tensor->weakrefs = nullptr;
  tensor->storage = storage.take();
  tensor->data = data;
  tensor->shape = shape.take();
  tensor->dtype = dtype;
  tensor->device = device;
  tensor->flags = flags;
  tensor->output_nr = 0;
  tensor->grad_fn = nullptr;
  tensor->extra = nullptr;
  PyObject_GC_Track(tensor);
  return TensorPtr::steal(tensor);
}

}  // namespace

void destroy_extra(Tensor* tensor) {
  TensorExtra* extra = std::exchange(tensor->extra, nullptr);
  if (!extra) return;
  if (extra->version) release_version(extra->version);
  Tensor* grad = extra->grad;
  Tensor* base = extra->base;
  PyObject* hooks = extra->hooks;
  PyObject* post_hooks = extra->post_hooks;
  Tangent* tangents = extra->tangents;
  auto* changed_by = reinterpret_cast<PyObject*>(extra->changed_by);
  auto* parked = reinterpret_cast<PyObject*>(extra->accumulator_parked ? extra->accumulator : nullptr);
  if (kReuseMemory && free_extra_count < kFreeExtras) {
    free_extras[free_extra_count++] = extra;
  } else {
    delete extra;
  }
  Py_XDECREF(parked);
  Py_XDECREF(changed_by);
  Py_XDECREF(as_object(grad));
  Py_XDECREF(as_object(base));
  Py_XDECREF(hooks);
  Py_XDECREF(post_hooks);
  release_tangents(tangents);
}

bool recycle_tensor(Tensor* tensor) {
  if (!kReuseMemory || Py_TYPE(as_object(tensor)) != tensor_type || free_tensor_count == kFreeTensors) return false;
  free_tensors[free_tensor_count++] = tensor;
  return true;
}

TensorPtr make_tensor(StoragePtr storage, char* data, ShapePtr shape, DType dtype, Device device) {
  return new_tensor(storage, data, shape, dtype, device, 0);
}

TensorPtr empty(ShapePtr shape, DType dtype, Device device) {
  auto storage = StoragePtr::steal(allocate_storage(static_cast<size_t>(shape->numel) * itemsize(dtype), device));
  const uint8_t flags = mode_flags & kInferenceMode ? kInferenceTensor : 0;
  return new_tensor(storage, storage->data, shape, dtype, device, flags);
}

TensorPtr empty(Sizes sizes, DType dtype, Device device) { return empty(make_shape(sizes), dtype, device); }

TensorPtr empty_pinned(ShapePtr shape, DType dtype) {
  const DeviceKind& gpu = kind_of(DeviceType::Cuda);
  if (!gpu.why_absent().empty())
    fail("pin_memory=True requires a CUDA or other accelerator backend; there is none, leave pin_memory out");
  auto storage = StoragePtr::steal(gpu.allocate_pinned(static_cast<size_t>(shape->numel * itemsize(dtype))));
  char* data = storage->data;
  return make_tensor(std::move(storage), data, std::move(shape), dtype);
}

TensorPtr alias(const Tensor* tensor, ShapePtr shape, int64_t offset_from_tensor) {
  TensorPtr result =
      make_tensor(StoragePtr::borrow(tensor->storage), tensor->data + offset_from_tensor * itemsize(tensor->dtype),
                  std::move(shape), tensor->dtype, tensor->device);
  if (tensor->extra && tensor->extra->version) share_version(result.get(), tensor);
  result->flags |= tensor->flags & kInferenceTensor;
  return result;
}

TensorExtra& extra_of(Tensor* tensor) {
  if (!tensor->extra) {
    tensor->extra = free_extra_count > 0 ? free_extras[--free_extra_count] : new TensorExtra;
    *tensor->extra = TensorExtra{};
  }
  return *tensor->extra;
}

void set_grad(Tensor* tensor, TensorPtr grad) {
  if (!grad && !tensor->extra) return;
  Tensor* before = std::exchange(extra_of(tensor).grad, grad.take());
  if (before) release(before);
}

void detach_version(Tensor* tensor) {
  TensorExtra& extra = extra_of(tensor);
  if (extra.version) release_version(extra.version);
  extra.version = new OwnVersion{1, 0};
}

void share_version(Tensor* tensor, const Tensor* with) {
  OwnVersion* version = with->extra->version;
  ++version->refs;
  TensorExtra& extra = extra_of(tensor);
  if (extra.version) release_version(extra.version);
  extra.version = version;
}

DType default_dtype() { return default_dtype_; }
void set_default_dtype(DType dtype) { default_dtype_ = dtype; }

void check_alignment(const Storage* storage, DType dtype) {
  const auto alignment = static_cast<uintptr_t>(itemsize(dtype) / (is_complex(dtype) ? 2 : 1));
  if (reinterpret_cast<uintptr_t>(storage->data) % alignment)
    fail("the storage begins at an address that is not a multiple of ", alignment, ", as elements of ",
         info(dtype).name, " need it: it is part of a buffer or of another storage; clone() it first");
}

void refuse_devices(const char* op, Device device, Device expected) {
  if (device.type == DeviceType::Batched || expected.type == DeviceType::Batched) refuse_escaped();
  if (device == DeviceType::Meta || expected == DeviceType::Meta)
    fail(op, "(): Tensor on device ", to_string(device), " is not on the expected device ", to_string(expected),
         "! Move one of them by .to(device)");
  fail("Expected all tensors to be on the same device, but found at least two devices, ", to_string(expected), " and ",
       to_string(device), "! (", op, "(): move one of them by .to(device))");
}

void fail_not_implemented(const char* op, DType dtype) {
  const char* advice = is_float(dtype) || is_complex(dtype) ? "" : "; convert it with .float()";
  fail(ErrorKind::NotImplemented, "\"", op, "\" not implemented for '", info(dtype).legacy_name, "'", advice);
}

}  // namespace adjoint
