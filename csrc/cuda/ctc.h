// Connectionist temporal classification on a device, which kernels/ctc.h describes.
#pragma once

#include "kernels/ctc.h"

namespace adjoint::cuda {

/// Never any: ctc_loss() looks at the labels, and what is wrong is a fault (Note [Faults]).
std::optional<kernels::Ctc::Label> wrong_ctc_label(const kernels::CtcShape& shape, const View& labels);
void ctc_loss(const kernels::CtcShape& shape, const View& scores, const View& labels, const View& losses,
              const View& alpha);
void ctc_loss_backward(const kernels::CtcShape& shape, const View& grad, const View& scores, const View& labels,
                       const View& losses, const View& alpha, bool zero_infinity, const View& out);

}  // namespace adjoint::cuda
