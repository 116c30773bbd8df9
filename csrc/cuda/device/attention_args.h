// The parameter of the kernels of attention, as the program fills it and the device reads it.
#pragma once

#include <cstdint>

namespace adjoint::cuda {

/// A view of (batch, heads, rows, size), whose elements of a row lie side by side; strides in elements.
struct HeadRows {
  char* data;
  int64_t batch, head, row;
};

struct AttentionArgs {
  HeadRows query, key, value, out, grad, for_query, for_key, for_value;
  char* logsumexp;
  char* slopes;   ///< the sums of grad * out, row by row; by warps, what QueryFacts says
  int64_t heads;  ///< of one entry of the batch
  int64_t rows, keys;
  int64_t tiles;  ///< of one head
  double scale;
  int32_t causal;
};

}  // namespace adjoint::cuda
