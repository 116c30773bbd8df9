// Whether a tensor that is written to lies in the memory of one that is read.
#pragma once

#include "core/tensor.h"

namespace adjoint {

/// As far as it can be told: of tensors with gaps or repetitions only that their reaches meet.
enum class Overlap { None, Whole, Part, Unknown };

/// How `target` lies to `other`. `sizes`: those that the target will be resized to, or its own.
Overlap overlap(const Tensor* target, const Tensor* other, Sizes sizes);
inline Overlap overlap(const Tensor* target, const Tensor* other) { return overlap(target, other, target->sizes()); }

/// What a target may have in common with an argument: nothing at all, or all of it.
enum class Allowed { Nothing, Whole };

/// Fails in torch's words where the two overlap in a way that is not allowed, and that can be told.
void check_overlap(const Tensor* target, const Tensor* other, Allowed allowed, Sizes sizes);
inline void check_overlap(const Tensor* target, const Tensor* other, Allowed allowed) {
  check_overlap(target, other, allowed, target->sizes());
}

}  // namespace adjoint
