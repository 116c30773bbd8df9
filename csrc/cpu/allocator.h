// The caching allocator behind storages in the program's memory, its figures and its limit.
#pragma once

#include "core/storage.h"

namespace adjoint::cpu {

Storage* allocate(size_t nbytes, Device device);

struct MemoryStats {
  int64_t current;  ///< bytes in live storages
  int64_t peak;     ///< the most there ever was since the last reset
  int64_t cached;   ///< bytes kept for reuse
};
MemoryStats memory_stats();
void reset_peak_memory();
/// Returns all kept blocks to the system.
void empty_cache();

/// How many bytes live storages may hold: what was set, or else what the container grants, beyond which the process
/// would be killed. INT64_MAX where there is no limit.
int64_t memory_limit();
void set_memory_limit(int64_t bytes);

}  // namespace adjoint::cpu
