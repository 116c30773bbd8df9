// The CPU's connectionist temporal classification; kernels/ctc.h says what each function does.
#pragma once

#include "kernels/ctc.h"

namespace adjoint::cpu {

std::optional<kernels::Ctc::Label> wrong_ctc_label(const kernels::CtcShape& shape, const View& labels);
void ctc_loss(const kernels::CtcShape& shape, const View& scores, const View& labels, const View& losses,
              const View& alpha);
void ctc_loss_backward(const kernels::CtcShape& shape, const View& grad, const View& scores, const View& labels,
                       const View& losses, const View& alpha, bool zero_infinity, const View& out);

}  // namespace adjoint::cpu
