// Memory that others own, as storages; and what few storages need.
#include "core/storage.h"

#include <memory>
#include <unordered_map>

namespace adjoint {
namespace {

/// Owners own further storages where memory was handed back and forth, and wait then for the outermost to be gone; see
/// Note [Chains of tensors] in python/tensor_type.cpp.
struct ForeignOwner : StorageOwner {
  FreeMemory free_memory;
  void* context;
  ForeignOwner* next;
};
thread_local ForeignOwner* waiting_owners = nullptr;
thread_local bool freeing_owner = false;

void destroy_foreign(Storage* storage) {
  auto* owner = const_cast<ForeignOwner*>(static_cast<const ForeignOwner*>(storage->owner));
  delete storage;
  owner->next = std::exchange(waiting_owners, owner);
  if (std::exchange(freeing_owner, true)) return;
  while (waiting_owners) {
    std::unique_ptr<ForeignOwner> first(std::exchange(waiting_owners, waiting_owners->next));
    first->free_memory(first->context);
  }
  freeing_owner = false;
}

/// Not destroyed at exit: storages that outlive the interpreter would look into it.
std::unordered_map<const Storage*, StorageNotes>& all_notes() {
  static auto* table = new std::unordered_map<const Storage*, StorageNotes>;
  return *table;
}

}  // namespace

StorageNotes* notes_of(const Storage* storage) {
  if (!storage->noted) return nullptr;
  auto found = all_notes().find(storage);
  return found == all_notes().end() ? nullptr : &found->second;
}

StorageNotes& make_notes(Storage* storage) {
  StorageNotes& notes = all_notes()[storage];
  storage->noted = true;
  return notes;
}

bool end_notes(Storage* storage) {
  if (const StorageNotes* notes = notes_of(storage)) {
    if (notes->object) {
      leave_to_object(storage);
      return false;
    }
    if (notes->weak) expire_weak(notes->weak);
    all_notes().erase(storage);
  }
  if (forget_change) forget_change(storage);
  return true;
}

Storage* adopt_memory(void* data, size_t nbytes, FreeMemory free_memory, void* context) {
  auto owner = std::make_unique<ForeignOwner>(StorageOwner{destroy_foreign, true}, free_memory, context, nullptr);
  auto* storage = new Storage{1, 0, static_cast<char*>(data), nbytes, false, false, owner.get()};
  owner.release();
  return storage;
}

void* adopted_context(const Storage* storage, FreeMemory free_memory) {
  if (storage->owner->destroy != destroy_foreign) return nullptr;
  const auto* owner = static_cast<const ForeignOwner*>(storage->owner);
  return owner->free_memory == free_memory ? owner->context : nullptr;
}

}  // namespace adjoint
