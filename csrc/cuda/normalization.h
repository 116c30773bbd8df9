// Normalisation on a device.
#pragma once

#include "kernels/normalization.h"

namespace adjoint::cuda {

void set_normalization(kernels::Normalization& table);

// Of rows.
void layer_norm(const View& in, const View* weight, const View* bias, double eps, const View& out, const View* mean,
                const View& rstd);
void layer_norm_backward(const View& g, const View& in, const View* mean, const View& rstd, const View* weight,
                         const View* gin, const View* gweight, const View* gbias);

}  // namespace adjoint::cuda
