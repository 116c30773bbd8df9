// The CPU's bags of indices; kernels/embedding_bag.h says what each function does.
#pragma once

#include "kernels/embedding_bag.h"

namespace adjoint::cpu {

kernels::BagFault bag_fault(const View& indices, const View& starts, int64_t rows);
void embedding_bag(const kernels::Bags& bags, const View& table, const View* factors, const View& out,
                   const View& owner, const View& details);
void embedding_bag_table_grad(const kernels::Bags& bags, const View& grad, const View* factors, const View& owner,
                              const View& details, bool by_frequency, const View& out);
void embedding_bag_factors_grad(const kernels::Bags& bags, const View& grad, const View& table, const View& owner,
                                const View& out);

}  // namespace adjoint::cpu
