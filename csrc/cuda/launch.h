// Launching kernels.
#pragma once

#include <cstdint>
#include <string>

#include "core/mode.h"
#include "core/view.h"
#include "cuda/compiler.h"
#include "cuda/runtime.h"

namespace adjoint::cuda {

inline constexpr int kThreads = 256;  ///< of a block, where nothing else is said

/// Launches a function over a grid of blocks, with `args` for its parameter.
void launch(Device device, Function function, void* args, int64_t blocks, int threads = kThreads, int64_t blocks_y = 1,
            size_t shared_bytes = 0);

/// The same of a text.
template <class Args>
void launch(Device device, const std::string& source, Args& args, int64_t blocks, int threads = kThreads,
            int64_t blocks_y = 1, size_t shared_bytes = 0) {
  launch(device, compiled(device.index, source), &args, blocks, threads, blocks_y, shared_bytes);
}

/// Whether the backward of a text is worth to be compiled ahead: the text is new, and gradients are recorded.
inline bool needs_backward(int device, const std::string& source) { return recording() && is_new(device, source); }

/// So many blocks that each thread has one of n elements.
inline int64_t blocks_for(int64_t n, int threads = kThreads) { return (n + threads - 1) / threads; }

/// How device code calls an element type: "float", "Half".
const char* device_type(DType dtype);

}  // namespace adjoint::cuda
