// The CPU's normalisations; kernels/normalization.h says what each does.
#pragma once

#include "kernels/normalization.h"

namespace adjoint::cpu {

void layer_norm(const View& in, const View* weight, const View* bias, double eps, const View& out, const View* mean,
                const View& rstd);
void layer_norm_backward(const View& g, const View& in, const View* mean, const View& rstd, const View* weight,
                         const View* gin, const View* gweight, const View* gbias);
void plane_norm(const View& in, const kernels::PlaneShape& shape, const View* weight, const View* bias,
                const View* running_mean, const View* running_var, double momentum, double eps, const View& out,
                const View& mean, const View& rstd);
void plane_norm_backward(const View& g, const View& in, const kernels::PlaneShape& shape, const View& mean,
                         const View& rstd, const View* weight, const View* gin, const View* gweight, const View* gbias);
void plane_norm_fixed(const View& in, const kernels::PlaneShape& shape, const View* weight, const View* bias,
                      const View& mean, const View& var, double eps, const View& out);
void plane_norm_fixed_backward(const View& g, const View& in, const kernels::PlaneShape& shape, const View* weight,
                               const View& mean, const View& var, double eps, const View& gin, const View& gweight,
                               const View& gbias);

}  // namespace adjoint::cpu
