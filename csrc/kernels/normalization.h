// Normalisation of rows, and its gradients. Types are real floating ones, converted on the way.
#pragma once

#include "kernels/view.h"

namespace adjoint::kernels {

struct Normalization {
  /// out = (in - mean) * rstd * weight + bias, rstd = 1 / sqrt(var + eps), over each row of the matrix `in`. What
  /// belongs to a column (weight and bias, which may be null) and to a row (mean and rstd) is a vector. Without `mean`
  /// this is rms norm, whose means are 0.
  void (*layer_norm)(const View& in, const View* weight, const View* bias, double eps, const View& out,
                     const View* mean, const View& rstd);
  /// Any of `weight`, `gin`, `gweight`, `gbias` may be null; the gradients that are not wanted cost nothing.
  void (*layer_norm_backward)(const View& g, const View& in, const View* mean, const View& rstd, const View* weight,
                              const View* gin, const View* gweight, const View* gbias);
};

}  // namespace adjoint::kernels
