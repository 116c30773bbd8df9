// What is said when the memory of a device runs out.
#pragma once

#include <cstddef>

namespace adjoint::cuda {

/// Fails, and says what takes the memory, by the lines of the program that made it. Not under the allocator's lock: it
/// takes the interpreter's.
[[noreturn]] void fail_memory(int index, size_t nbytes);

}  // namespace adjoint::cuda
