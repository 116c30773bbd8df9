// Memory that others own, as storages.
#include "core/storage.h"

#include <memory>

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

}  // namespace

Storage* adopt_memory(void* data, size_t nbytes, FreeMemory free_memory, void* context) {
  auto owner = std::make_unique<ForeignOwner>(StorageOwner{destroy_foreign, true}, free_memory, context, nullptr);
  auto* storage = new Storage{1, 0, static_cast<char*>(data), nbytes, false, false, owner.get()};
  owner.release();
  return storage;
}

void* adopted_context(const Storage* storage, FreeMemory free_memory) {
  if (!storage->is_foreign()) return nullptr;
  const auto* owner = static_cast<const ForeignOwner*>(storage->owner);
  return owner->free_memory == free_memory ? owner->context : nullptr;
}

}  // namespace adjoint
