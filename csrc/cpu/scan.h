// The CPU's scans; kernels/scan.h says what each does.
#pragma once

#include "kernels/scan.h"

namespace adjoint::cpu {

kernels::Scan::Along cumsum, cumprod, logcumsumexp;
kernels::Scan::Locating cummax, cummin;
void recur(const View& in, const View& weight, const View& out, int dim, bool reverse);

}  // namespace adjoint::cpu
