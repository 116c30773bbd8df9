// Normalisation of rows, and of planes by channel or group, with their gradients. Types are real floating ones,
// converted on the way.
#pragma once

#include "core/view.h"

namespace adjoint::kernels {

/// A batch of samples, each of some channels of `length` elements, contiguous.
struct PlaneShape {
  int64_t samples = 0, channels = 0, length = 1;
  int64_t groups = 0;          ///< of channels in each sample, which share statistics; 0: the samples share a channel's
  bool channels_last = false;  ///< the channels of a place lie side by side; without groups only
};

struct Normalization {
  /// out = (in - mean) * rstd * weight + bias, rstd = 1 / sqrt(var + eps), over each row of the matrix `in`. What
  /// belongs to a column (weight and bias, which may be null) and to a row (mean and rstd) is a vector. Without `mean`
  /// this is rms norm, whose means are 0.
  void (*layer_norm)(const View& in, const View* weight, const View* bias, double eps, const View& out,
                     const View* mean, const View& rstd);
  /// Any of `weight`, `gin`, `gweight`, `gbias` may be null; the gradients that are not wanted cost nothing.
  void (*layer_norm_backward)(const View& g, const View& in, const View* mean, const View& rstd, const View* weight,
                              const View* gin, const View* gweight, const View* gbias);

  // The same for planes. weight and bias, which may be null, have an element for each channel; `mean` and `rstd` are
  // contiguous, with one for each channel or for each group. Elements of the others lie as the shape says.

  /// The running statistics of the channels, where given, move by `momentum` towards those of the batch.
  void (*plane_norm)(const View& in, const PlaneShape& shape, const View* weight, const View* bias,
                     const View* running_mean, const View* running_var, double momentum, double eps, const View& out,
                     const View& mean, const View& rstd);
  /// Gradients that are null are not wanted; those of weight and bias are contiguous.
  void (*plane_norm_backward)(const View& g, const View& in, const PlaneShape& shape, const View& mean,
                              const View& rstd, const View* weight, const View* gin, const View* gweight,
                              const View* gbias);
  /// By given means and variances of the channels.
  void (*plane_norm_fixed)(const View& in, const PlaneShape& shape, const View* weight, const View* bias,
                           const View& mean, const View& var, double eps, const View& out);
  void (*plane_norm_fixed_backward)(const View& g, const View& in, const PlaneShape& shape, const View* weight,
                                    const View& mean, const View& var, double eps, const View& gin, const View& gweight,
                                    const View& gbias);
};

}  // namespace adjoint::kernels
