// The parameters of kernels that write at computed places.
#pragma once

#include "core/scalar.h"
#include "fault.h"
#include "walk_args.h"

namespace adjoint::cuda {

inline constexpr int kMaxPutIndices = 5;

/// Indices and what they name: dimensions of so many slots.
struct NamedSlots {
  const int64_t* index[kMaxPutIndices];
  int64_t size[kMaxPutIndices];
  int64_t step[kMaxPutIndices];    ///< of the written view
  int64_t number[kMaxPutIndices];  ///< of slots, which are counted through
  int32_t dim[kMaxPutIndices];
  int64_t skipped;  ///< an index that names no slot
  FaultRecord fault;
};

/// One thread for each element. The walk is over what is written, what is read, the number of the slot, the number of
/// the entry, and the indices.
struct DirectArgs {
  char* dst;
  const char* src;
  int32_t* claims;  ///< of each slot: the last entry that names it, counted from 1
  NamedSlots slots;
  struct alignas(16) {
    char bytes[16];
  } value;
  WalkArgs<kMaxPutIndices + 4> walk;
};

/// One thread for each line along the indexed dimension. The walk is over lines of what is written, of what is read,
/// and of the index.
struct LineArgs {
  char* dst;
  const char* src;
  const int64_t* index;
  int64_t length, size, dst_step, src_step, index_step;
  int32_t dim;
  FaultRecord fault;
  WalkArgs<3> walk;
};

/// The number of each entry's slot. The walk is over the entries: the number, and the indices.
struct SlotArgs {
  void* keys;
  int64_t none;  ///< the number of no slot
  NamedSlots slots;
  WalkArgs<kMaxPutIndices + 1> walk;
};

inline constexpr int64_t kOwnedEntries = 8;  ///< whose slots a thread sees to

/// Entries in the order of their slots: the first of each slot's puts all of them together.
struct OwnerArgs {
  char* dst;
  const char* src;
  const void* keys;
  const uint32_t* places;
  int64_t n, none;
  void* parts;  ///< sums of stretches of `part` entries that lie inside a slot's; null: there are none
  int64_t part;
  int64_t columns;  ///< threads of an entry
  Scalar alpha;
  int32_t include_self, mean;
  WalkArgs<1> slot, entry;  ///< where a slot is written, and an entry read
  WalkArgs<2> rest;         ///< the elements of both
};

}  // namespace adjoint::cuda
