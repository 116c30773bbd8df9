// The record of a wrong value that a kernel has met; see Note [Faults] in cuda/faults.h.
#pragma once

#include <cstdint>

namespace adjoint::cuda {

enum class FaultKind : int32_t {
  None,
  Index,
  Class,
  Negative,
  Chance,
  Rate,
  FirstOffset,  ///< of bags, as the next three
  LastOffset,
  FallingOffset,
  BagIndex,
  Label,
  SequenceLabel,
  SparseEntry,
  Refused,  ///< by an op that has its own words for it: the value is their address in the program's memory
};

struct Fault {
  int32_t kind;  ///< a FaultKind; the first kernel to find it None writes the others
  int32_t dim;
  int64_t value, bound;
  uint32_t origin;  ///< of the launch: an Origin of core/origin.h
};

/// What a kernel is given: where the record is, and what to write of itself.
struct FaultRecord {
  Fault* place;
  uint32_t origin;
};

#ifdef ADJOINT_DEVICE_CODE
/// Keeps the first fault, and says whether there is none: `check(0 <= i && i < n, ...)`.
inline bool check(bool holds, const FaultRecord& record, FaultKind kind, int dim, int64_t value, int64_t bound) {
  if (!holds && atomicCAS(&record.place->kind, 0, static_cast<int32_t>(kind)) == 0) {
    record.place->dim = dim;
    record.place->value = value;
    record.place->bound = bound;
    record.place->origin = record.origin;
    __threadfence_system();
  }
  return holds;
}
#endif

}  // namespace adjoint::cuda
