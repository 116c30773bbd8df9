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
ShapePtr element_shape(const Tensor* value, bool shared) {
  if (shared) return ShapePtr::borrow(value->shape);
  return make_shape(value->sizes().subspan(1), value->strides().subspan(1));
}

StoragePtr hold(TensorPtr value, uint64_t level, bool shared) {
  auto* storage = new BatchStorage;
  static_cast<Storage&>(*storage) = {1, 0, value->storage->data, value->storage->nbytes, false, false, &owner};
  storage->level = level;
  storage->shared = shared;
  storage->value = value.take();
  return StoragePtr::steal(storage);
}

}  // namespace

TensorPtr make_batched(TensorPtr value, uint64_t level, bool shared, Tensor* like) {
  ShapePtr shape = element_shape(value.get(), shared);
  char* data = value->data;
  const DType dtype = value->dtype;
  const Device device(DeviceType::Batched, static_cast<uint8_t>(place_of(value->device).type));
  TensorPtr result = make_tensor(hold(std::move(value), level, shared), data, std::move(shape), dtype, device);
  if (like) {
    if (!like->extra || !like->extra->version) {
      detach_version(like);
      like->extra->version->value = like->storage->version;
    }
    share_version(result.get(), like);
  }
  return result;
}

bool outgrows(const Tensor* value, const Tensor* target) {
  for (; is_batched(value); value = batched_value(value)) {
    const Tensor* place = target;
    while (is_batched(place) && batched_level(place) != batched_level(value)) place = batched_value(place);
    if (!is_batched(place) || (is_shared(place) && !is_shared(value))) return true;
  }
  return false;
}

void refuse_batched(const Tensor* tensor) {
  if (is_batched(tensor))
    fail(
        "Cannot access data pointer of Tensor that doesn't have storage: under vmap it stands for all elements of the "
        "batch. Use tensor functions here, or look at what vmap returns.");
}

void set_batched_value(Tensor* tensor, TensorPtr value) {
  const uint64_t level = batched_level(tensor);
  const bool shared = is_shared(tensor);
  ShapePtr shape = element_shape(value.get(), shared);
  tensor->data = value->data;
  tensor->dtype = value->dtype;
  StoragePtr storage = hold(std::move(value), level, shared);
  storage->version = tensor->storage->version;
  StoragePtr former_storage = StoragePtr::steal(std::exchange(tensor->storage, storage.take()));
  ShapePtr former_shape = ShapePtr::steal(std::exchange(tensor->shape, shape.take()));
}

}  // namespace adjoint
