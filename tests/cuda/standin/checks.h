// Checks each access of device code to memory, as NVIDIA's compute-sanitizer does on a GPU: with ADJOINT_STANDIN_CHECK,
// the name of a folder, kernels are compiled so that they call checks::access before each, and what is wrong is written
// to files there (python -m tests.cuda --check reads them).
//
// - memcheck: outside of every allocation, or not at a multiple of what is loaded at once;
// - racecheck: by two threads, at least one of which writes, without a barrier between; in shared memory and, other
//   than NVIDIA's tool, in that of the device, where threads of two blocks must not meet at all;
// - synccheck: threads of a block that wait at different barriers.
#pragma once

#include "blocks.h"

namespace standin::checks {

bool wanted();

enum Access : int { kRead, kWrite, kAtomic };

void begin_launch(const Launch& launch, Span shared);
void begin_block();
void pass_block_barrier();
void pass_warp_barrier(unsigned warp);
/// By the running thread; `code` is the instruction after it.
void access(const void* place, size_t bytes, int how, const void* code);
/// That a thread does something at a place or in a state in which it must not.
void report(const char* what, const void* code);
/// That two threads wait at different places; the compiler may have made two of one.
void report_barriers(const void* code, const void* other);

}  // namespace standin::checks
