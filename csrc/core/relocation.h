// Storages whose memory changes its size or its place while tensors lie on it.
#pragma once

#include <span>

#include "core/tensor.h"

namespace adjoint {

/// Whether a storage can change its size: its memory is ours, and nobody else knows where it is.
bool is_resizable(const Storage* storage);
/// Gives a storage another number of bytes, keeping those that stay. Tensors on it go on showing it, and what they
/// show beyond its end is nothing: zeros, which may be written. `users`: tensors on it that the caller knows of.
void resize_storage(Storage* storage, Device device, size_t nbytes, std::span<Tensor* const> users = {});
/// Gives a storage the memory of another one of as many bytes, which nobody else uses, with the values that it has.
/// False, and nothing done, when somebody else knows where its memory is.
bool move_storage(Storage* storage, StoragePtr to, std::span<Tensor* const> users = {});
/// The storage that the bytes are from: itself, or the last one whose memory it was given.
const Storage* memory_of(const Storage* storage);

}  // namespace adjoint
