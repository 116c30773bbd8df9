// Convolutions on a device; kernels/convolution.h says what each function does.
#pragma once

#include "kernels/convolution.h"

namespace adjoint::cuda {

bool conv_takes_halves(const kernels::ConvShape& shape, DType dtype);
void convolution(const kernels::ConvShape& shape, bool transposed, const View& in, const View& weight, const View* bias,
                 const View& out);
void convolution_weight(const kernels::ConvShape& shape, const View& grad, const View& in, const View& out);
void split_conv_weight(const View& complex, const View& real, bool transposed);
void join_conv_weight(const View& real, const View& complex);

}  // namespace adjoint::cuda
