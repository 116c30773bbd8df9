// The CPU's pooling; kernels/pooling.h says what each function does.
#pragma once

#include "kernels/pooling.h"

namespace adjoint::cpu {

void max_pool(const kernels::PoolShape& shape, const View& in, const View& out, const View* indices);
kernels::Pooling::Mean mean_pool, mean_pool_backward;
void fractional_max_pool(const kernels::PoolShape& shape, int dims, const View& samples, const View& in,
                         const View& out, const View& indices);
std::optional<int64_t> scatter_planes(int64_t planes, const View& in, const View& indices, const View& out, bool add);

}  // namespace adjoint::cpu
