// The CPU's margin loss of labels; kernels/loss_labels.h says what each function does.
#pragma once

#include "kernels/loss_labels.h"

namespace adjoint::cpu {

bool any_out_of_range(const View& labels);
void multilabel_margin(const View& scores, const View& labels, const View& losses, const View& is_label);
void multilabel_margin_backward(const View& grad, const View& scores, const View& labels, const View& is_label,
                                const View& out);

}  // namespace adjoint::cpu
