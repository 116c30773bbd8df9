// The loops of products with sparse matrices. See Note [Instruction sets] in cpu/isa.h.
#pragma once

#include <cstdint>

#include "cpu/isa.h"

namespace adjoint::cpu {

/// Of float or double.
template <class T>
struct SparseLoops {
  /// out[j] = sum of value[e] * dense[column[e] * stride + j] over the entries e = order[first] up to order[last], or
  /// first up to last where `order` is null; false where a column is not below `limit`.
  bool (*add_rows)(const int64_t* order, int64_t first, int64_t last, const int64_t* column, const T* value,
                   const T* dense, int64_t stride, int64_t limit, T* out, int64_t width);
  T (*dot)(const T* a, const T* b, int64_t n);

  template <Isa>
  static SparseLoops compiled();
};

}  // namespace adjoint::cpu
