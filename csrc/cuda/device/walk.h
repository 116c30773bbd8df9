// Where element i of each of several views lies.
#pragma once

#include "fault.h"
#include "kernel.h"
#include "walk_args.h"

namespace adjoint::cuda {

/// The offsets of the first `used` views of a walk. Loops over dimensions stay loops: divisions of 64 bits, unrolled,
/// take the compiler longer than all the rest.
template <int used, class Index, int N>
inline void walk_to(const WalkArgs<N>& walk, Index rest, Index (&offsets)[used]) {
#pragma unroll
  for (int k = 0; k < used; ++k) offsets[k] = 0;
#pragma unroll 1
  for (int d = walk.ndim - 1; d > 0; --d) {
    const Index size = static_cast<Index>(walk.sizes[d]), quotient = rest / size, at = rest - quotient * size;
#pragma unroll
    for (int k = 0; k < used; ++k) offsets[k] += at * static_cast<Index>(walk.strides[k][d]);
    rest = quotient;
  }
  if (walk.ndim > 0) {
#pragma unroll
    for (int k = 0; k < used; ++k) offsets[k] += rest * static_cast<Index>(walk.strides[k][0]);
  }
}

/// An index that counts from the front, where it lies inside; 0 and a fault where it does not.
template <bool wraps>
inline int64_t checked_index(int64_t value, int64_t size, const FaultRecord& fault, int dim) {
  const bool inside = value < size && value >= (wraps ? -size : 0);
  if (!check(inside, fault, FaultKind::Index, dim, value, size)) return 0;
  return wraps && value < 0 ? value + size : value;
}

}  // namespace adjoint::cuda
