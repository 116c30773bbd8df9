// The margin loss of several labels on a device, which kernels/loss_labels.h describes.
#pragma once

#include "kernels/loss_labels.h"

namespace adjoint::cuda {

/// Never: multilabel_margin() looks at the labels, and what is wrong is a fault (Note [Faults]).
bool any_out_of_range(const View& labels);
void multilabel_margin(const View& scores, const View& labels, const View& losses, const View& is_label);
void multilabel_margin_backward(const View& grad, const View& scores, const View& labels, const View& is_label,
                                const View& out);

}  // namespace adjoint::cuda
