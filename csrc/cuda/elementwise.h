// Elementwise kernels of the op table on a device.
#pragma once

#include "kernels/elementwise.h"

namespace adjoint::cuda {

void elementwise(const Kernel& kernel, DType compute, const View& out, const View* inputs, const Scalar* params);
void elementwise_packed(const Kernel& kernel, DType compute, const Tensor& out, const Operand* operands, int n,
                        const Scalar* params);
void gather_elementwise(bool begin);
/// out = convert(in) on one device; `in` may be one element in the program's memory.
void convert_elements(const View& in, const View& out);

/// The text of a kernel of the op table, as it would be compiled for packed inputs of these types: for tests.
std::string elementwise_source(const char* name, DType compute);

}  // namespace adjoint::cuda
