// Memory that tensors share.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/device.h"
#include "core/ref.h"

namespace adjoint {

struct Storage;

/// Who made a storage, and ends it.
struct StorageOwner {
  void (*destroy)(Storage* storage);
  bool foreign;  ///< the memory is not ours: it has been adopted
};

/// A block of memory with a reference count and the version counter of the tensors on it.
struct Storage {
  uint32_t refs;
  uint32_t version;  ///< bumped by every in-place change; see Note [Versions] in tape/saved_value.h
  char* data;
  size_t nbytes : 62;
  size_t saved : 1;    ///< some node has saved a tensor on it: changes are noted (tape/change.h)
  size_t changed : 1;  ///< a change is noted
  const StorageOwner* owner;

  bool is_foreign() const { return owner->foreign; }
};

/// What to do with a storage whose change is noted when it dies; set by who notes changes (tape/change.cpp).
inline void (*forget_change)(const Storage* storage) = nullptr;

/// Uninitialised memory on a device.
using Allocate = Storage* (*)(size_t nbytes);
extern const Allocate allocators[kDeviceTypes];  // in csrc/devices.cpp
inline Storage* allocate_storage(size_t nbytes, Device device) {
  return allocators[static_cast<size_t>(device.type)](nbytes);
}

/// Called when a storage made by `adopt_memory` dies.
using FreeMemory = void (*)(void* context);
/// Memory that somebody else owns; `free_memory(context)` is called when it is no longer used.
Storage* adopt_memory(void* data, size_t nbytes, FreeMemory free_memory, void* context);
/// The context of memory that was adopted with this function; null for other memory.
void* adopted_context(const Storage* storage, FreeMemory free_memory);

inline void retain(Storage* storage) { ++storage->refs; }
inline void release(Storage* storage) {
  if (--storage->refs > 0) return;
  if (storage->changed) [[unlikely]]
    forget_change(storage);
  storage->owner->destroy(storage);
}
using StoragePtr = Ref<Storage>;

}  // namespace adjoint
