// Several views at once, which together show the whole of a tensor; and the same memory without being called views.
#pragma once

#include <vector>

#include "core/tensor.h"

namespace adjoint::ops {

/// Parts of `split_size` along a dimension; the last may be smaller.
std::vector<TensorPtr> split_evenly(Tensor* input, int64_t split_size, int64_t dim);
std::vector<TensorPtr> split_with_sizes(Tensor* input, const std::vector<int64_t>& split_sizes, int64_t dim);
/// All slices along a dimension, which goes.
std::vector<TensorPtr> unbind(Tensor* input, int64_t dim);

/// The same, but nobody watches over changes of them through one another.
std::vector<TensorPtr> unsafe_split(Tensor* input, int64_t split_size, int64_t dim);
std::vector<TensorPtr> unsafe_split_with_sizes(Tensor* input, const std::vector<int64_t>& split_sizes, int64_t dim);

/// The dimension along which `op` takes a tensor apart.
int dim_to_split(const Tensor* input, int64_t dim, const char* op);

}  // namespace adjoint::ops
