// Blocks of more than a few hundred bytes: from the system, and from those that were freed before.
#pragma once

#include <cstddef>
#include <cstdint>

namespace adjoint {

/// Uninitialised memory, aligned to 64 bytes; null where the system has none. The interpreter lock must be held.
char* allocate_block(size_t nbytes);
/// Frees a block of `nbytes` as asked for. The interpreter lock must be held.
void free_block(char* data, size_t nbytes);
/// Says that so many bytes were given back to malloc: now and then it is asked to give them back to the system.
void note_returned(size_t nbytes);
/// Returns all kept blocks to the system.
void empty_block_cache();
/// Sets how many bytes live and kept blocks may hold together: kept ones make room for new ones.
void set_block_limit(int64_t bytes);

struct BlockStats {
  int64_t cached;  ///< bytes kept for reuse
  int64_t fresh;   ///< blocks that came from the system
  int64_t reused;  ///< blocks that came from the kept ones
};
BlockStats block_stats();

}  // namespace adjoint
