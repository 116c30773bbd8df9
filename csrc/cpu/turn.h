// Rows turned into columns within vectors, for files that are compiled for several instruction sets.
#pragma once

#include <utility>

#include "cpu/vector_math.h"

namespace adjoint::cpu {
inline namespace ADJOINT_ISA {

/// A vector of the instruction set's own width.
template <class A>
struct Packed {
  typedef A Type __attribute__((vector_size(kVectorBytes)));
  static constexpr int kWidth = kVectorBytes / sizeof(A);
};

template <class V, int... kPlace>
[[gnu::always_inline]] inline void split_pair(const V& a, const V& b, V& even, V& odd,
                                              std::integer_sequence<int, kPlace...>) {
  even = __builtin_shufflevector(a, b, (2 * kPlace)...);
  odd = __builtin_shufflevector(a, b, (2 * kPlace + 1)...);
}

/// Of kLength vectors, a power of two, which hold as many rows of kLength elements as a vector has elements, makes one
/// for each place in a row: those of even and of odd places apart, and both again. Loops are unrolled, here and where
/// it is called, so that the vectors stay in registers.
template <class A, int kLength>
[[gnu::always_inline]] inline void turn_vectors(const typename Packed<A>::Type* rows,
                                                typename Packed<A>::Type* places) {
  if constexpr (kLength == 1) {
    places[0] = rows[0];
  } else {
    typename Packed<A>::Type apart[2][kLength / 2], turned[2][kLength / 2];
#pragma GCC unroll 16
    for (int i = 0; i < kLength / 2; ++i)
      split_pair(rows[2 * i], rows[2 * i + 1], apart[0][i], apart[1][i],
                 std::make_integer_sequence<int, Packed<A>::kWidth>());
    turn_vectors<A, kLength / 2>(apart[0], turned[0]);
    turn_vectors<A, kLength / 2>(apart[1], turned[1]);
#pragma GCC unroll 16
    for (int i = 0; i < kLength; ++i) places[i] = turned[i % 2][i / 2];
  }
}

}  // namespace ADJOINT_ISA
}  // namespace adjoint::cpu
