// The parameters of the kernels of embedding_bag.h.
#pragma once

#include <cstdint>

#include "fault.h"

namespace adjoint::cuda {

/// Bags are runs of `indices` that begin at `starts`, as kernels/embedding_bag.h has it.
struct BagArgs {
  const int64_t *indices, *starts;
  int64_t length, start_count, count;  ///< of the indices, the starts and the bags
  int64_t rows, width, padding;
  const void *table, *factors, *grad;  ///< null: no factors
  int64_t *owner, *details;
  void* out;
  int32_t mean;
  int32_t* full;  ///< bags with rows that count
  FaultRecord fault;
};

inline constexpr int64_t kBagChunk = 32;  ///< sorted indices that a thread adds up

/// Indices in the order of their rows.
struct BagRowArgs {
  const void* keys;
  const uint32_t* places;
  const void *factors, *grad;
  const int64_t *owner, *details;
  const unsigned long long* uses;  ///< of each row; null: no matter
  void* out;
  void *heads, *tails;  ///< parts of rows that begin in an earlier chunk, and of those that go on in the next one
  int64_t n, rows, width;
  int32_t mean;
};

}  // namespace adjoint::cuda
