// Marks in a program for NVIDIA's profilers, by NVTX. Where it is not installed, or nobody listens, they do nothing.
#pragma once

#include <cstdint>

namespace adjoint::cuda {

/// Begins and ends a range of this thread; the number of ranges around it, or -2 where nobody listens.
int push_range(const char* name);
int pop_range();
/// Begins and ends a range of the process.
uint64_t start_range(const char* name);
void end_range(uint64_t range);
void mark(const char* name);

}  // namespace adjoint::cuda
