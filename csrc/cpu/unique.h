// The CPU's telling apart, which kernels/unique.h describes.
#pragma once

#include "kernels/unique.h"

namespace adjoint::cpu {

int64_t unique(const View& in, bool consecutive, const View& values, const View* inverse, const View* counts);
int64_t unique_rows(const View& in, bool consecutive, const View& firsts, const View& inverse, const View& counts);

}  // namespace adjoint::cpu
