// Memory that tensors share.
#pragma once

#include <Python.h>

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
  /// Empties bytes that are no longer used but stay where they are: zeros from now on. Null: there are none.
  void (*discard)(char* data, size_t nbytes) = nullptr;
};

/// A block of memory with a reference count and the version counter of the tensors on it.
struct Storage {
  uint32_t refs;
  uint32_t version;  ///< bumped by every in-place change; see Note [Versions] in tape/saved_value.h
  char* data;
  size_t nbytes : 62;
  size_t saved : 1;  ///< some node has saved a tensor on it: changes are noted (tape/change.h)
  size_t noted : 1;  ///< more is known of it: a change, or its StorageNotes
  const StorageOwner* owner;

  bool is_foreign() const { return owner->foreign; }
};

/// What few storages need, kept in a table.
struct StorageNotes {
  PyObject* object =
      nullptr;         ///< the Python object that stands for it; see Note [Storage objects] in types/storage.cpp
  uintptr_t weak = 0;  ///< the number that weak references know it by, or 0
  bool object_is_kept = false;  ///< the object lives as long as the storage, and not the other way round
  bool fixed = false;           ///< its size stays as it is: an array was made of it once
  bool lent = false;            ///< others know its address: it stays there for good
};
/// The notes of a storage; null: there are none.
StorageNotes* notes_of(const Storage* storage);
/// The notes of a storage, made if need be.
StorageNotes& make_notes(Storage* storage);

/// What to do with a storage whose change is noted when it dies; set by who notes changes (tape/change.cpp).
inline void (*forget_change)(const Storage* storage) = nullptr;
/// What to do with a storage that no tensor uses any more but that has an object or weak references; set by who makes
/// these (types/storage.cpp).
inline void (*leave_to_object)(Storage* storage) = nullptr;
inline void (*expire_weak)(uintptr_t weak) = nullptr;
/// Ends what is known of a storage; false when its object goes on with it.
bool end_notes(Storage* storage);

/// Uninitialised memory on a device.
using Allocate = Storage* (*)(size_t nbytes, Device device);
extern const Allocate allocators[kDeviceTypes];  // in csrc/devices.cpp
inline Storage* allocate_storage(size_t nbytes, Device device) {
  return allocators[static_cast<size_t>(device.type)](nbytes, device);
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
  if (storage->noted) [[unlikely]] {
    if (!end_notes(storage)) return;
  }
  storage->owner->destroy(storage);
}
using StoragePtr = Ref<Storage>;

}  // namespace adjoint
