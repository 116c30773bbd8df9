// The parameter of the kernel of matrix products, as the program fills it and the device reads it.
#pragma once

#include <cstdint>

namespace adjoint::cuda {

/// A batch of matrices; strides in elements.
struct Matrices {
  char* data;
  int64_t batch, row, col;
};

struct ProductArgs {
  int64_t batch, m, n, k;
  Matrices a, b, c;
  /// As elements of the type in which is computed.
  struct alignas(16) Number {
    char bytes[16];
  } alpha, beta;
  int32_t reads_c;
};

/// The sums of a small product, which 32 bits count; what is added to them may be c itself.
struct SmallProductArgs {
  uint32_t batch, m, n, k;
  Matrices a, b, c, added;
  ProductArgs::Number alpha, beta;
  int32_t adds;
};

}  // namespace adjoint::cuda
