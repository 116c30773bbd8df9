// Fourier transforms along some dimensions, scaled by 1, 1/sqrt(n) or 1/n (normalization 0, 1, 2).
#pragma once

#include "core/ints.h"
#include "core/tensor.h"

namespace adjoint::ops {

TensorPtr fft_c2c(Tensor* input, const Ints& dim, int64_t normalization, bool forward);
/// Of real values; `onesided`: without the mirrored half of the last of the dimensions.
TensorPtr fft_r2c(Tensor* input, const Ints& dim, int64_t normalization, bool onesided);
/// From onesided values back to real ones, `last_dim_size` of them along the last of the dimensions.
TensorPtr fft_c2r(Tensor* input, const Ints& dim, int64_t normalization, int64_t last_dim_size);

}  // namespace adjoint::ops
