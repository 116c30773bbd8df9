// What sparse tensors are computed with on a device, which kernels/sparse.h describes.
#pragma once

#include "kernels/sparse.h"

namespace adjoint::cuda {

int64_t sparse_group(const View& keys, int64_t bound, const View& order, const View& groups, const View& starts);
void sparse_sum_groups(const View& values, const View& order, const View& starts, const View& out);
/// These are always true: an entry that lies outside is a fault (Note [Faults]).
bool sparse_product(const kernels::SparseRows& rows, const View& dense, const View& out);
bool sparse_sampled(const View& row, const View& column, const View& first, const View& second, const View& out);
bool sparse_solve(const kernels::SparseRows& rows, bool upper, bool unit, const View& dense, const View& out);

}  // namespace adjoint::cuda
