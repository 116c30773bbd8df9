// The CPU's folding; kernels/folding.h says what each function does.
#pragma once

#include "kernels/folding.h"

namespace adjoint::cpu {

kernels::Folding::Fold unfold_planes, fold_planes;

}  // namespace adjoint::cpu
