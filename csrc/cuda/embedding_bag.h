// Bags of rows of a table on a device, which kernels/embedding_bag.h describes.
#pragma once

#include "kernels/embedding_bag.h"

namespace adjoint::cuda {

/// Never anything: forward() looks at the values, and what is wrong is a fault (Note [Faults]).
kernels::BagFault bag_fault(const View& indices, const View& starts, int64_t rows);
void embedding_bag(const kernels::Bags& bags, const View& table, const View* factors, const View& out,
                   const View& owner, const View& details);
void embedding_bag_table_grad(const kernels::Bags& bags, const View& grad, const View* factors, const View& owner,
                              const View& details, bool by_frequency, const View& out);
void embedding_bag_factors_grad(const kernels::Bags& bags, const View& grad, const View& table, const View& owner,
                                const View& out);

}  // namespace adjoint::cuda
