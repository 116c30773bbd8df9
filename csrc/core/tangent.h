// Tangents: what forward mode carries along with a tensor.
#pragma once

#include <optional>

#include "core/tensor.h"

namespace adjoint {

/// A tangent of one level of forward mode; the levels of a tensor are a list, the newest first.
struct Tangent {
  uint64_t level;
  Tensor* value;  ///< owned; of the tensor's sizes and strides
  Tangent* next;
};

inline bool has_tangents(const Tensor* tensor) { return tensor->extra && tensor->extra->tangents; }
/// The tangent that a tensor itself has at this level, or null (borrowed).
inline Tensor* own_tangent(const Tensor* tensor, uint64_t level) {
  for (const Tangent* tangent = tensor->extra ? tensor->extra->tangents : nullptr; tangent; tangent = tangent->next)
    if (tangent->level == level) return tangent->value;
  return nullptr;
}
/// Gives a tensor its tangent at this level; an empty pointer takes it away.
void set_own_tangent(Tensor* tensor, uint64_t level, TensorPtr value);
/// The end of a tensor's list of tangents.
void release_tangents(Tangent* tangents);
/// Gives `target` the tangents of `source`, all that it has.
void copy_tangents(Tensor* target, const Tensor* source);

}  // namespace adjoint
