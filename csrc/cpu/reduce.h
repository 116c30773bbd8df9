// The CPU's reductions; kernels/reduce.h says what each does.
#pragma once

#include "kernels/reduce.h"

namespace adjoint::cpu {

kernels::Reduce::Whole sum, nansum, prod, amax, amin, any, all, logsumexp;
kernels::Reduce::Along argmax, argmin;
kernels::Reduce::Locating max_with_index, min_with_index;
void aminmax(const View& in, const View& low, const View& high);
void mean(const View& in, const View& out, double count);
void var(const View& in, const View& out, double correction, bool root, const View* mean);
void norm(const View& in, const View& out, double p);
void drop_nans(const View& values);
/// In place, in packed values.
void take_roots(const View& values);
void segments(const View& in, const View& ends, const View& out, kernels::Segments kind);

}  // namespace adjoint::cpu
