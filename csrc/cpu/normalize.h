// Layer and rms normalisation of the rows of a matrix, and their fused backward.
#pragma once

#include "kernels/view.h"

namespace adjoint::cpu {

/// out = (in - mean) * rstd * weight + bias, rstd = 1 / sqrt(var + eps), over each row of the 2-D `in`.
/// `weight` and `bias` (cols elements, 1-D) may be null; `mean` and `rstd` are 1-D, rows elements.
/// `centered` false: rms norm, whose means are 0.
void layer_norm(const View& in, const View* weight, const View* bias, double eps, const View& out, const View& mean,
                const View& rstd, bool centered = true);
/// Any of `weight`, `gin`, `gweight`, `gbias` may be null; the gradients that are not wanted cost nothing.
void layer_norm_backward(const View& g, const View& in, const View& mean, const View& rstd, const View* weight,
                         const View* gin, const View* gweight, const View* gbias, bool centered = true);

}  // namespace adjoint::cpu
