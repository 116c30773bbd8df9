// The parameters of the kernels of sparse.h.
#pragma once

#include <cstdint>

#include "fault.h"

namespace adjoint::cuda {

/// Keys as they are sorted, and the places that come of it.
struct SparseKeyArgs {
  const int64_t* given;
  void* keys;
  const uint32_t* places;
  int64_t* order;
  int64_t n;
};

/// Rows of values that groups name.
struct SparseSumArgs {
  const void* values;
  const int64_t *order, *starts;
  void* out;
  int64_t entries, groups, width;
};

/// Entries of a matrix, row after row, as kernels/sparse.h has them, and rows of dense ones.
struct SparseArgs {
  const int64_t *starts, *order, *columns;  ///< `order` is null: the entries as they are
  const void* values;
  const void* dense;
  void* out;
  int64_t rows, width, entries, dense_rows, dense_step;
  int32_t upper, unit;
  int32_t *done, *tickets;  ///< of a triangular system: rows that are solved, and how many were begun
  FaultRecord fault;
};

struct SampledArgs {
  const int64_t *row, *column;
  const void *first, *second;
  void* out;
  int64_t n, width, first_rows, second_rows, first_step, second_step;
  FaultRecord fault;
};

}  // namespace adjoint::cuda
