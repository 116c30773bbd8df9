// Which whole numbers a random fill of a type draws from.
#pragma once

#include <cstdint>

#include "core/dtype.h"

namespace adjoint {

struct FloatLimits {
  int precision;  ///< bits
  double greatest;
};

FloatLimits float_limits(DType dtype);

/// A range of whole numbers: `length` of them, 0 standing for 2 ** 64.
struct WholeRange {
  int64_t low;
  uint64_t length;
};

/// [low, high) in a type, which must hold the bounds; of floating types, the part that they represent.
WholeRange bounded_range(DType dtype, int64_t low, int64_t high);
/// From low up to the greatest of the type; for floating types up to 2 ** (bits of precision).
WholeRange half_open_range(DType dtype, int64_t low);

}  // namespace adjoint
