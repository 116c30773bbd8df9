// The parameter of the kernels of attention, as the program fills it and the device reads it.
#pragma once

#include <cstdint>

#include "cpu/attention_drops.h"

namespace adjoint::cuda {

/// A view of (batch, heads, rows, size), whose elements of a row lie side by side; strides in elements.
struct HeadRows {
  char* data;
  int64_t batch, head, row;
};

/// The same of a mask, (batch, heads, rows, keys).
struct MaskWords {
  const void* data;
  int64_t batch, head, row, key;
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
  MaskWords mask;
  const int64_t* draws;
  DropRate drop;
};

/// The factors of all weights, 0 or that of the rate.
struct KeptArgs {
  const int64_t* draws;
  char* out;
  int64_t rows, keys;  ///< rows of all heads
  DropRate drop;
};

}  // namespace adjoint::cuda
