// Who changed a saved tensor in place: kept only for storages that some node saved, for the error that names it.
#pragma once

#include "core/tensor.h"

namespace adjoint {

/// Remembers that `op` changed the values on `storage` last, at the current line of Python.
void note_change(Storage* storage, const char* op);
/// "mul_ (at file.py:12 in f)", or "" when nothing was noted.
std::string last_change(const Storage* storage);

/// Notes an in-place change of the values by `op`. See Note [Versions] in tape/saved_value.h.
inline void bump_version(Tensor* tensor, const char* op) {
  ++version_of(tensor);
  if (tensor->storage->saved) [[unlikely]]
    note_change(tensor->storage, op);
}

}  // namespace adjoint
