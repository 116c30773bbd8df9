// Batched tensors: what a function under vmap sees of many tensors that lie behind one another in one.
#pragma once

#include "core/tensor.h"

namespace adjoint {

/// Note [Batched tensors]: a batched tensor shows one element of its value, a tensor whose first dimension is the
/// batch. It has the sizes and strides of that element, its type, and the device `Batched`, whose kernels all refuse:
/// ops on it are for its level of vmap (transforms/batch.h) to compute. The value may be batched at an outer level,
/// require grad there, or carry tangents; the batched tensor has a history of its own, which belongs to what
/// differentiates inside of the vmap. What holds the value is its storage, so that aliases and saved values keep it
/// like any memory.
///
/// Tensors that show one value, or views of it, share one version counter, as they would share that of a storage.
struct BatchStorage : Storage {
  Tensor* value;   ///< owned
  uint64_t level;  ///< which vmap; larger numbers are inside of smaller ones
};

inline bool is_batched(const Tensor* tensor) { return tensor->device.type == DeviceType::Batched; }
/// Of a batched tensor (borrowed).
inline Tensor* batched_value(const Tensor* tensor) { return static_cast<BatchStorage*>(tensor->storage)->value; }
inline uint64_t batched_level(const Tensor* tensor) { return static_cast<BatchStorage*>(tensor->storage)->level; }
inline bool is_batched_at(const Tensor* tensor, uint64_t level) {
  return is_batched(tensor) && batched_level(tensor) == level;
}

/// The elements of `value` along its first dimension, as one tensor. `like`: a batched tensor that it is a view of, or
/// null.
TensorPtr make_batched(TensorPtr value, uint64_t level, Tensor* like = nullptr);
/// Lets a batched tensor show another value.
void set_batched_value(Tensor* tensor, TensorPtr value);

/// Refuses a batched tensor where memory is asked for: it stands for many, and has none of its own.
void refuse_batched(const Tensor* tensor);

/// The device on which the values are in the end.
inline Device place_of(Device device) {
  return device.type == DeviceType::Batched ? Device(static_cast<DeviceType>(device.index)) : device;
}

}  // namespace adjoint
