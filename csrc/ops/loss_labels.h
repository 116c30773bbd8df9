// The margin loss of several labels for each row of scores.
#pragma once

#include <utility>

#include "core/tensor.h"

namespace adjoint::ops {

/// The loss of each row, and 1 for each class that is a label. A row's labels end at the first -1.
std::pair<TensorPtr, TensorPtr> multilabel_margin_loss(Tensor* input, Tensor* target);
TensorPtr multilabel_margin_backward(Tensor* grad, Tensor* input, Tensor* target, Tensor* is_target);

}  // namespace adjoint::ops
