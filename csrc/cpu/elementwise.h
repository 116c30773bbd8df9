// The registry of generated loops, and the driver that runs them over strided views.
#pragma once

#include <cstdint>

#include "kernels/elementwise.h"

namespace adjoint {

/// Adds a loop to the registry; called by generated code. Later calls for the same (name, dtype) replace earlier ones.
void register_loop(const char* name, ResultKind result, int inputs, int params, DType compute, Loop loop);
/// The kernel of this name, or null.
const Kernel* find_kernel(const char* name);

namespace cpu {

void elementwise(const Kernel& kernel, DType compute, const View& out, const View* inputs, const Scalar* params);
void elementwise_packed(const Kernel& kernel, DType compute, const Tensor& out, const Operand* operands, int n,
                        const Scalar* params);
void elementwise_chain(std::span<const kernels::ChainStep> steps, DType compute, int64_t n);
void add_all(const View& out, std::span<const View> others);
void refuse_zeros(const View& in, const char* words);

}  // namespace cpu
}  // namespace adjoint
