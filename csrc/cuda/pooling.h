// Pooling on a device, which kernels/pooling.h describes.
#pragma once

#include "kernels/pooling.h"

namespace adjoint::cuda {

void max_pool(const kernels::PoolShape& shape, const View& in, const View& out, const View* indices);
void mean_pool(const kernels::PoolShape& shape, int64_t divisor, const View& in, const View& out);
void mean_pool_backward(const kernels::PoolShape& shape, int64_t divisor, const View& in, const View& out);
void fractional_max_pool(const kernels::PoolShape& shape, int dims, const View& samples, const View& in,
                         const View& out, const View& indices);
std::optional<int64_t> scatter_planes(int64_t planes, const View& in, const View& indices, const View& out, bool add);

}  // namespace adjoint::cuda
