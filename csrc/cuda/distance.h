// Cross products and distances on a device; kernels/distance.h says what each function does.
#pragma once

#include "core/view.h"

namespace adjoint::cuda {

void cross(const View& a, const View& b, const View& out, int axis);
void cdist(const View& x1, const View& x2, double p, const View& out);
void cdist_backward(const View& grad, const View& x1, const View& x2, double p, const View& out, const View& gin);
void pdist(const View& in, double p, const View& out);
void pdist_backward(const View& grad, const View& in, double p, const View& out, const View& gin);

}  // namespace adjoint::cuda
