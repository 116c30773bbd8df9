// Calls of ops with tensors of stored types. See Note [Stored types] in core/dtype.h.
#pragma once

#include "op/op.h"

namespace adjoint {

/// The stored types that an op takes as they are, and those that it gets as what stands for them (compute_type); bit
/// sets. From `stored` and `widened` of its declaration.
struct StoredTypes {
  uint32_t taken = 0;
  uint32_t widened = 0;
  bool back = false;     ///< unsigned integers come back as such in the first result
  bool ordered = false;  ///< so they do, and keep their order as int64
};
StoredTypes read_stored(PyObject* declaration);

/// Refuses the stored types that the op does not take.
void check_stored(const Op& op, PyObject* const* slots);
/// The call with other types in the place of those that the op is not computed in; null where it takes all as they are.
/// Floats of 8 bits and complex32 come back as such, unsigned integers as int64 unless the declaration says otherwise.
Object call_widened(Op& op, PyObject* const* slots);

}  // namespace adjoint
