// Storages in memory that other processes can map: each lies in a file that has no name.
#pragma once

#include "core/storage.h"

namespace adjoint {

/// Uninitialised memory in a new file.
Storage* allocate_shared(size_t nbytes);
/// The memory of such a file; the storage takes over the file descriptor.
Storage* map_shared(int file, size_t nbytes);
/// The file that a storage lies in, or -1.
int shared_file(const Storage* storage);

}  // namespace adjoint
