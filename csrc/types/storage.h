// Storages as Python objects: the base of torch.UntypedStorage.
#pragma once

#include <optional>

#include "types/types.h"

namespace adjoint {

/// A storage and where it is, of a Python object that stands for one.
struct StorageValue {
  StoragePtr storage;
  Device device;
  std::optional<DType> dtype;  ///< of a TypedStorage
};

/// Whether an object is an UntypedStorage, or a TypedStorage around one.
bool is_storage(PyObject* object);
/// The storage of such an object.
StorageValue to_storage(PyObject* object);
/// Refuses a TypedStorage of another type than a tensor's.
void check_storage_type(const StorageValue& value, DType dtype);
/// A tensor of all elements of a type that a storage holds.
TensorPtr on_storage(const StorageValue& value, DType dtype);
/// Lets the object of a storage that tensors have come to use live as long as they do.
void keep_object(Storage* storage);

/// Adds the type to the module.
void init_storage(PyObject* module);

}  // namespace adjoint
