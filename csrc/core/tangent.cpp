#include "core/tangent.h"

#include <utility>

namespace adjoint {

void set_own_tangent(Tensor* tensor, uint64_t level, TensorPtr value) {
  if (!value && !has_tangents(tensor)) return;
  Tangent** place = &extra_of(tensor).tangents;
  while (*place && (*place)->level != level) place = &(*place)->next;
  if (!*place) {
    if (value) *place = new Tangent{level, value.take(), nullptr};
    return;
  }
  if (value) {
    TensorPtr former = TensorPtr::steal(std::exchange((*place)->value, value.take()));
    return;
  }
  Tangent* gone = std::exchange(*place, (*place)->next);
  TensorPtr former = TensorPtr::steal(gone->value);
  delete gone;
}

void copy_tangents(Tensor* target, const Tensor* source) {
  if (!has_tangents(source)) return;
  for (const Tangent* tangent = source->extra->tangents; tangent; tangent = tangent->next)
    set_own_tangent(target, tangent->level, TensorPtr::borrow(tangent->value));
}

void release_tangents(Tangent* tangents) {
  while (tangents) {
    Tangent* gone = std::exchange(tangents, tangents->next);
    release(gone->value);
    delete gone;
  }
}

}  // namespace adjoint
