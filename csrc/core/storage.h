// Memory that tensors share, and the caching allocator behind it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/ref.h"

namespace adjoint {

/// Called when a storage made by `adopt_memory` dies.
using FreeMemory = void (*)(void* context);

/// Who frees memory that does not come from our allocator.
struct ForeignOwner {
  FreeMemory free_memory;
  void* context;
};

/// A block of memory with a reference count and the version counter of the tensors on it.
struct Storage {
  uint32_t refs;
  uint32_t version;  ///< bumped by every in-place change; see Note [Versions] in tape/saved_value.h
  char* data;
  size_t nbytes : 62;
  size_t saved : 1;     ///< some node has saved a tensor on it: changes are noted (tape/change.h)
  size_t changed : 1;   ///< a change is noted
  ForeignOwner* owner;  ///< null: the block belongs to the allocator
};

/// Drops the note of a dying storage's last change. Defined in tape/change.cpp.
void forget_change(const Storage* storage);

/// Uninitialised memory; small blocks lie right behind the Storage itself.
Storage* allocate_storage(size_t nbytes);
/// Memory that somebody else owns; `free_memory(context)` is called when it is no longer used.
Storage* adopt_memory(void* data, size_t nbytes, FreeMemory free_memory, void* context);
void destroy_storage(Storage* storage);

inline void retain(Storage* storage) { ++storage->refs; }
inline void release(Storage* storage) {
  if (--storage->refs == 0) destroy_storage(storage);
}
using StoragePtr = Ref<Storage>;

struct MemoryStats {
  int64_t current;  ///< bytes in live storages
  int64_t peak;     ///< the most there ever was since the last reset
  int64_t cached;   ///< bytes kept for reuse
};
MemoryStats memory_stats();
void reset_peak_memory();
/// Returns all kept blocks to the system.
void empty_cache();

}  // namespace adjoint
