#include "ops/memory.h"

#include "core/lock.h"
#include "kernels/backend.h"

namespace adjoint {

void copy_into(const View& source, const View& target) {
  if (source.device.type == target.device.type) {
    on(target.device).memory.copy(source, target);
  } else if (target.device == DeviceType::Cpu) {
    on(source.device).memory.to_host(source, target);
  } else {
    on(target.device).memory.from_host(source, target);
  }
}

TensorPtr contiguous(Tensor* tensor) {
  if (tensor->contiguous()) return TensorPtr::borrow(tensor);
  TensorPtr result = empty(tensor->sizes(), tensor->dtype, tensor->device);
  copy_into(tensor, result.get());
  return result;
}

TensorPtr flat(Tensor* tensor) {
  TensorPtr dense = contiguous(tensor);
  int64_t sizes[] = {dense->numel()};
  return alias(dense.get(), make_shape(Sizes(sizes, 1)));
}

TensorPtr clone(const Tensor* tensor) {
  TensorPtr result = empty(dense_shape(tensor->shape), tensor->dtype, tensor->device);
  copy_into(tensor, result.get());
  return result;
}

TensorPtr pinned(const Tensor* tensor) {
  if (tensor->device != DeviceType::Cpu)
    fail("cannot pin 'torch.", tensor->device.type == DeviceType::Cuda ? "cuda." : "", info(tensor->dtype).legacy_name,
         "Tensor' only dense CPU tensors can be pinned");
  TensorPtr result = empty_pinned(dense_shape(tensor->shape), tensor->dtype);
  copy_into(tensor, result.get());
  return result;
}

/// Elements that would take as long as all that a device has still to do before it can be read: many.
constexpr int64_t kQueued = int64_t{1} << 20;

TensorPtr in_program_memory(Tensor* tensor) {
  if (tensor->device == DeviceType::Cpu) return TensorPtr::borrow(tensor);
  TensorPtr result = empty(dense_shape(tensor->shape), tensor->dtype, DeviceType::Cpu);
  if (!works_behind(tensor->device)) {
    copy_into(tensor, result.get());
    return result;
  }
  WithoutLock unlocked(kQueued);
  copy_into(tensor->view(), result->view());
  return result;
}

TensorPtr cast(Tensor* tensor, DType dtype) {
  if (tensor->dtype == dtype) return TensorPtr::borrow(tensor);
  TensorPtr result = empty(dense_shape(tensor->shape), dtype, tensor->device);
  copy_into(tensor, result.get());
  return result;
}

TensorPtr contiguous(Tensor* tensor, DType dtype) {
  if (tensor->dtype == dtype) return contiguous(tensor);
  TensorPtr result = empty(tensor->sizes(), dtype, tensor->device);
  copy_into(tensor, result.get());
  return result;
}

static TensorPtr copy_in(Tensor* tensor, MemoryFormat format) {
  TensorPtr result = empty(shape_in_format(tensor->sizes(), format), tensor->dtype, tensor->device);
  copy_into(tensor, result.get());
  return result;
}

TensorPtr dense_in(Tensor* tensor, MemoryFormat format) {
  return lies_in(tensor->shape, format) ? TensorPtr::borrow(tensor) : copy_in(tensor, format);
}

TensorPtr in_format(TensorPtr tensor, MemoryFormat format) {
  return format == MemoryFormat::Contiguous ? tensor : copy_in(tensor.get(), format);
}

void fill(Tensor* tensor, const Scalar& value) {
  dispatch_any(tensor->dtype, [&](auto tag) {
    auto element = value.to<decltype(tag)>();
    WithoutLock unlocked(tensor->numel());
    on(tensor->device).memory.fill(tensor->view(), &element);
  });
}

TensorPtr zeros(Sizes sizes, DType dtype, Device device) {
  TensorPtr result = empty(sizes, dtype, device);
  fill(result.get(), Scalar::of(int64_t{0}));
  return result;
}

bool refuse_zeros_later(const Tensor* tensor, const char* words) {
  if (!works_behind(tensor->device)) return false;
  on(tensor->device).elementwise.refuse_zeros(tensor->view(), words);
  return true;
}

Scalar scalar_of(const Tensor* tensor) {
  if (!works_behind(tensor->device)) return on(tensor->device).memory.read(tensor->view());
  WithoutLock unlocked(kQueued);
  return on(tensor->device).memory.read(tensor->view());
}

}  // namespace adjoint
