// Several tensors added to one.
#pragma once

#include <span>

#include "core/view.h"

namespace adjoint::cuda {

void add_all(const View& out, std::span<const View> others);

}  // namespace adjoint::cuda
