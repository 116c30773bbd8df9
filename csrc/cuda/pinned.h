// Pinned memory: the program's memory that a device reads and writes by itself, while the program goes on.
//
// Note [Pinned memory]. Taking it from the driver is slow, and giving it back waits for the devices; so freed blocks
// are kept by size. A copy that was not waited for leaves an event with its block, which is not given out again before
// that. A graph may read a block whenever it is launched: what was copied from while one was captured is never given
// out again.
#pragma once

#include <cstddef>

#include "core/storage.h"
#include "cuda/allocator.h"
#include "cuda/driver.h"

namespace adjoint::cuda {

Storage* allocate_pinned(size_t nbytes);
/// Whether an address lies in pinned memory.
bool is_pinned(const void* address);
/// A stream uses the pinned memory at this address until it has come so far; false: it is not pinned.
bool note_pinned_use(const void* address, int index, Stream stream);
/// What there is of pinned memory, and of the part that storages use.
struct PinnedStats {
  Counter bytes, blocks, used_bytes, used;
};
PinnedStats pinned_stats();
void reset_pinned_peaks();
/// Forgets the sums of what came and went.
void reset_pinned_sums();
/// Pins memory that the program has, or lets it go: is_pinned() says so, too. Gives the driver's answer.
Result register_host(void* address, size_t nbytes, unsigned flags);
Result unregister_host(void* address);
/// Gives what no storage uses back to the driver.
void empty_pinned_cache();

}  // namespace adjoint::cuda
