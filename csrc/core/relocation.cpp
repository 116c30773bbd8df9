#include "core/relocation.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "core/guard.h"

namespace adjoint {
namespace {

/// Note [Moved memory]: tensors hold the address of their first element. A storage that grows is given the memory of
/// another one, and every tensor on it, found among the objects of the collector, is told. What a storage had before
/// is emptied but stays mapped until the storage ends: a kernel that runs in another thread meanwhile reads zeros, not
/// memory that is gone. One that shrinks stays where it is for the same reason.
struct MovedOwner : StorageOwner {
  const StorageOwner* first;  ///< who made the storage, and what it was made with
  char* first_data;
  size_t first_nbytes;
  std::vector<StoragePtr> given;  ///< the memory it was given, the current one last; none: the first
  size_t capacity;                ///< bytes at the current place
};

void destroy_moved(Storage* storage) {
  std::unique_ptr<MovedOwner> owner(const_cast<MovedOwner*>(static_cast<const MovedOwner*>(storage->owner)));
  storage->data = owner->first_data;
  storage->nbytes = owner->first_nbytes;
  storage->owner = owner->first;
  owner.reset();
  storage->owner->destroy(storage);
}

MovedOwner* moved_owner(const Storage* storage) {
  if (storage->owner->destroy != destroy_moved) return nullptr;
  return const_cast<MovedOwner*>(static_cast<const MovedOwner*>(storage->owner));
}

MovedOwner& make_moved(Storage* storage) {
  if (MovedOwner* owner = moved_owner(storage)) return *owner;
  auto* owner = new MovedOwner;
  const StorageOwner* first = storage->owner;
  static_cast<StorageOwner&>(*owner) = {destroy_moved, first->foreign, first->discard};
  owner->first = first;
  owner->first_data = storage->data;
  owner->first_nbytes = owner->capacity = storage->nbytes;
  storage->owner = owner;
  return *owner;
}

bool is_lent_tensor(const Tensor* tensor) { return tensor->flags & kLent; }

/// All tensors on a storage; false when others know where the memory is.
bool find_tensors(const Storage* storage, std::span<Tensor* const> users, std::vector<TensorPtr>& found) {
  const StorageNotes* notes = notes_of(storage);
  if (notes && notes->lent) return false;
  // An object that has the storage to itself is one more reference.
  const size_t objects = notes && notes->object && !notes->object_is_kept ? 1 : 0;
  if (storage->refs == users.size() + objects) {
    for (Tensor* user : users) found.push_back(TensorPtr::borrow(user));
  } else {
    Object gc = checked(PyImport_ImportModule("gc"));
    auto search = [&] {
      found.clear();
      Object all = checked(PyObject_CallMethod(gc.get(), "get_objects", nullptr));
      for (Py_ssize_t i = 0; i < PyList_GET_SIZE(all.get()); ++i) {
        PyObject* object = PyList_GET_ITEM(all.get(), i);
        if (is_tensor(object) && as_tensor(object)->storage == storage)
          found.push_back(TensorPtr::borrow(as_tensor(object)));
      }
    };
    search();
    // Saved values, which hold the storage too, need not be found; objects that gc.freeze() hides must be.
    Object frozen = checked(PyObject_CallMethod(gc.get(), "get_freeze_count", nullptr));
    if (found.size() + objects < storage->refs && PyObject_IsTrue(frozen.get())) {
      checked(PyObject_CallMethod(gc.get(), "unfreeze", nullptr));
      search();
    }
  }
  return std::none_of(found.begin(), found.end(), [](const TensorPtr& one) { return is_lent_tensor(one.get()); });
}

/// Makes `to` the memory of the storage.
void take_over(Storage* storage, StoragePtr to, const std::vector<TensorPtr>& tensors, size_t nbytes) {
  MovedOwner& owner = make_moved(storage);
  owner.given.reserve(owner.given.size() + 1);
  char* before = storage->data;
  for (const TensorPtr& tensor : tensors) tensor->data = to->data + (tensor->data - before);
  if (owner.discard) owner.discard(before, owner.capacity);
  storage->data = to->data;
  storage->nbytes = nbytes;
  owner.capacity = to->nbytes;
  owner.foreign = to->is_foreign();
  owner.discard = to->owner->discard;
  owner.given.push_back(std::move(to));
}

[[noreturn]] void refuse(size_t nbytes, const Storage* storage, const char* why) {
  fail("Trying to resize storage that is not resizable: ", nbytes, " bytes are asked for, there are ", storage->nbytes,
       ", and ", why, "; clone() it first");
}

}  // namespace

bool is_resizable(const Storage* storage) {
  const StorageNotes* notes = notes_of(storage);
  return !storage->is_foreign() && !(notes && (notes->fixed || notes->lent));
}

const Storage* memory_of(const Storage* storage) {
  const MovedOwner* owner = moved_owner(storage);
  return owner && !owner->given.empty() ? owner->given.back().get() : storage;
}

bool move_storage(Storage* storage, StoragePtr to, std::span<Tensor* const> users) {
  std::vector<TensorPtr> tensors;
  if (!find_tensors(storage, users, tensors)) return false;
  std::memcpy(to->data, storage->data, storage->nbytes);
  take_over(storage, std::move(to), tensors, storage->nbytes);
  return true;
}

void resize_storage(Storage* storage, Device device, size_t nbytes, std::span<Tensor* const> users) {
  if (storage->is_foreign()) refuse(nbytes, storage, "the memory belongs to an array, a buffer or a file");
  if (!is_resizable(storage)) refuse(nbytes, storage, "an array, a capsule or another storage may use the memory, too");
  if (!device.holds_values()) {  // there is nothing to keep
    storage->nbytes = nbytes;
    return;
  }
  if (nbytes == storage->nbytes) return;
  const MovedOwner* before = moved_owner(storage);
  const size_t capacity = before ? before->capacity : storage->nbytes;
  if (nbytes <= capacity) {
    MovedOwner& owner = make_moved(storage);
    if (nbytes < storage->nbytes && owner.discard) owner.discard(storage->data + nbytes, storage->nbytes - nbytes);
    storage->nbytes = nbytes;
    return;
  }
  std::vector<TensorPtr> tensors;
  if (!find_tensors(storage, users, tensors)) refuse(nbytes, storage, "an array or a buffer uses the memory, too");
  // Storages that grow again and again do not leave as many blocks behind.
  const size_t room = before && !before->given.empty() ? std::max(nbytes, capacity + capacity / 2) : nbytes;
  auto to = StoragePtr::steal(allocate_storage(room, device));
  kind_of(device.type).copy_bytes(device, to->data, storage->data, storage->nbytes);
  take_over(storage, std::move(to), tensors, nbytes);
}

}  // namespace adjoint
