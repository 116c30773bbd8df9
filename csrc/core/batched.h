// Batched tensors: what a function under vmap sees of many tensors that lie behind one another in one.
#pragma once

#include "core/tensor.h"

namespace adjoint {

class Deferred;

/// Note [Batched tensors]: a batched tensor shows one element of its value, a tensor whose first dimension is the
/// batch. It has the sizes and strides of that element, its type, and the device `Batched`, whose kernels all refuse:
/// ops on it are for its level of vmap (transforms/batch.h) to compute. The value may be batched at an outer level,
/// require grad there, or carry tangents; the batched tensor has a history of its own, which belongs to what
/// differentiates inside of the vmap. What holds the value is its storage, so that aliases and saved values keep it
/// like any memory.
///
/// A tensor and the views of it share one version counter from the first view on, as they would share that of a
/// storage; what was saved before counts with the storage, whose counter a change therefore bumps, too.
///
/// An input of a derivative that is taken inside of the vmap may be shared by all elements of the batch, and yet have a
/// gradient for each of them. Such a tensor belongs to the level, too, with a history of its own there, but its value
/// is one for all, and has no dimension of the batch: `shared`.
struct BatchStorage : Storage {
  Tensor* value;   ///< owned
  uint64_t level;  ///< which vmap; larger numbers are inside of smaller ones
  bool shared;
  int32_t step = -1;          ///< of the chain, which computes the value; -1: it has been
  Deferred* chain = nullptr;  ///< owned; null once somebody has seen the value
};

/// Computations of values that nobody has seen yet; see Note [Chains] in transforms/chain.h.
class Deferred {
 public:
  /// Computes all of them.
  virtual void settle() = 0;
  /// Nobody will see this value.
  virtual void forget(const BatchStorage& storage) = 0;

 protected:
  virtual ~Deferred() = default;

 private:
  friend void retain(Deferred* chain) { ++chain->refs_; }
  friend void release(Deferred* chain) {
    if (--chain->refs_ == 0) delete chain;
  }
  uint32_t refs_ = 1;
};

inline bool is_batched(const Tensor* tensor) { return tensor->device.type == DeviceType::Batched; }
/// Lets the value of a storage be seen.
[[gnu::cold]] void reveal(BatchStorage& storage);
/// Of a batched tensor (borrowed).
inline Tensor* batched_value(const Tensor* tensor) {
  auto* storage = static_cast<BatchStorage*>(tensor->storage);
  if (storage->chain) [[unlikely]]
    reveal(*storage);
  return storage->value;
}
inline uint64_t batched_level(const Tensor* tensor) { return static_cast<BatchStorage*>(tensor->storage)->level; }
/// Whether it belongs to no vmap, but consists of its attributes: see Note [Wrapped tensors] in transforms/wrapped.h.
inline bool is_wrapped(const Tensor* tensor) { return is_batched(tensor) && batched_level(tensor) == 0; }
/// Whether it belongs to this level.
inline bool is_batched_at(const Tensor* tensor, uint64_t level) {
  return is_batched(tensor) && batched_level(tensor) == level;
}
/// Of a batched tensor: whether its value is one for all elements.
inline bool is_shared(const Tensor* tensor) { return static_cast<BatchStorage*>(tensor->storage)->shared; }

/// The elements of `value` along its first dimension, as one tensor, or all of it for each of them. `like`: a batched
/// tensor that it is a view of, or null.
TensorPtr make_batched(TensorPtr value, uint64_t level, bool shared, Tensor* like = nullptr);
/// The same of a shape that is known already.
TensorPtr make_batched(TensorPtr value, uint64_t level, bool shared, ShapePtr shape);
/// Lets a batched tensor show another value.
void set_batched_value(Tensor* tensor, TensorPtr value);

/// Whether `value` belongs to a level to which `target` does not, or differs from element to element where the other
/// does not: then it cannot be written there.
bool outgrows(const Tensor* value, const Tensor* target);

/// Keeps the code of a function that a vmap of this thread has run, for errors of tensors that have escaped from it.
/// What is no function of a program's own is left out.
void note_mapped_function(PyObject* function);
/// Refuses a call with a batched tensor that no vmap has seen; it names the function that vmap has run last.
[[noreturn]] void refuse_escaped();

/// Refuses a batched tensor where memory is asked for: it stands for many, and has none of its own.
void refuse_batched(const Tensor* tensor);

/// A device of a kind that only seems to be one, for values that are on another in the end; that one is its number.
inline Device seeming(DeviceType type, Device place) {
  return {type, static_cast<uint8_t>(static_cast<uint8_t>(place.type) | place.index << 3)};
}
/// The device on which the values are in the end.
inline Device place_of(Device device) {
  if (device.type < DeviceType::Batched) return device;
  return {static_cast<DeviceType>(device.index & 7), static_cast<uint8_t>(device.index >> 3)};
}

}  // namespace adjoint
