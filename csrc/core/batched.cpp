#include "core/batched.h"

#include <utility>

#include "core/error.h"

namespace adjoint {
namespace {

void destroy(Storage* storage) {
  auto* batch = static_cast<BatchStorage*>(storage);
  release(batch->value);
  delete batch;
}

constexpr StorageOwner owner = {destroy, false};

/// The shape of one element.
ShapePtr element_shape(const Tensor* value) {
  return make_shape(value->sizes().subspan(1), value->strides().subspan(1));
}

StoragePtr hold(TensorPtr value, uint64_t level) {
  auto* storage = new BatchStorage;
  static_cast<Storage&>(*storage) = {1, 0, value->storage->data, value->storage->nbytes, false, false, &owner};
  storage->level = level;
  storage->value = value.take();
  return StoragePtr::steal(storage);
}

}  // namespace

TensorPtr make_batched(TensorPtr value, uint64_t level, Tensor* like) {
  ShapePtr shape = element_shape(value.get());
  char* data = value->data;
  const DType dtype = value->dtype;
  const Device device(DeviceType::Batched, static_cast<uint8_t>(place_of(value->device).type));
  TensorPtr result = make_tensor(hold(std::move(value), level), data, std::move(shape), dtype, device);
  if (like && like->extra && like->extra->version) {
    share_version(result.get(), like);
  } else {
    detach_version(result.get());
  }
  return result;
}

void refuse_batched(const Tensor* tensor) {
  if (is_batched(tensor))
    fail(
        "Cannot access data pointer of Tensor that doesn't have storage: under vmap it stands for all elements of the "
        "batch. Use tensor functions here, or look at what vmap returns.");
}

void set_batched_value(Tensor* tensor, TensorPtr value) {
  const uint64_t level = batched_level(tensor);
  ShapePtr shape = element_shape(value.get());
  tensor->data = value->data;
  tensor->dtype = value->dtype;
  StoragePtr storage = hold(std::move(value), level);
  StoragePtr former_storage = StoragePtr::steal(std::exchange(tensor->storage, storage.take()));
  ShapePtr former_shape = ShapePtr::steal(std::exchange(tensor->shape, shape.take()));
}

}  // namespace adjoint
