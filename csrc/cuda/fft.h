// Fourier transforms on a device, by cuFFT; kernels/fft.h says what is computed.
#pragma once

#include "kernels/fft.h"

namespace adjoint::cuda {

void fft(const View& in, const View& out, const kernels::FftLines& lines);

}  // namespace adjoint::cuda
