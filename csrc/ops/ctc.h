// Connectionist temporal classification: the likelihood of a sequence of labels under scores at each time.
#pragma once

#include <utility>

#include "core/tensor.h"

namespace adjoint::ops {

/// The negated log-likelihood of each sequence, and the log-likelihoods of the beginnings (batch, time, states).
/// Impossible sequences have infinite losses: `zero_infinity` is for the gradient. Scores are (time, batch, classes);
/// labels (batch, most labels), or all labels one after the other.
std::pair<TensorPtr, TensorPtr> ctc_loss(Tensor* log_probs, Tensor* targets, Tensor* input_lengths,
                                         Tensor* target_lengths, int64_t blank, bool zero_infinity);
/// The gradient of scores that are logarithms of probabilities; zero for impossible sequences if `zero_infinity`.
TensorPtr ctc_loss_backward(Tensor* grad, Tensor* log_probs, Tensor* targets, Tensor* input_lengths,
                            Tensor* target_lengths, Tensor* losses, Tensor* log_alpha, int64_t blank,
                            bool zero_infinity);

}  // namespace adjoint::ops
