// Whether an out= can take a result for its type, and torch's words where it cannot.
#pragma once

#include "core/dtype.h"

namespace adjoint {

/// Raises for an out= of type `given` in the `place`-th place that cannot take a result of type `expected`. exact: only
/// the same type will do.
void check_out_type(const char* op, DType given, DType expected, bool exact, int place);

}  // namespace adjoint
