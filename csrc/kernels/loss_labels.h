// The margin loss of several labels for each row of scores. All views are packed; scores, losses and gradients are of
// one type, Float32 or Float64, labels Int64 and marks UInt8. A row's labels end at the first -1.
#pragma once

#include "core/view.h"

namespace adjoint::kernels {

struct LossLabels {
  /// Whether a label is neither a class nor -1; there are as many classes as columns.
  bool (*any_out_of_range)(const View& labels);
  /// The loss of each row, and 1 for each class that is a label.
  void (*multilabel_margin)(const View& scores, const View& labels, const View& losses, const View& is_label);
  void (*multilabel_margin_backward)(const View& grad, const View& scores, const View& labels, const View& is_label,
                                     const View& out);
};

}  // namespace adjoint::kernels
