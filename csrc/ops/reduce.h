// Reductions as ops: which dimensions go, the result's shape and type, then the kernel.
// A missing or empty `dim` means all dimensions, except in `any` and `all`, where an empty one means none.
#pragma once

#include <optional>
#include <tuple>
#include <utility>

#include "core/ints.h"
#include "core/scalar.h"
#include "core/tensor.h"

namespace adjoint::ops {

using OptionalInts = std::optional<Ints>;

TensorPtr sum(Tensor* input, const OptionalInts& dim, bool keepdim, std::optional<DType> dtype);
/// The sum of the elements that are not NaN.
TensorPtr nansum(Tensor* input, const OptionalInts& dim, bool keepdim, std::optional<DType> dtype);
TensorPtr sum_all(Tensor* input, std::optional<DType> dtype);
/// Sums to sizes that broadcast to the input's; the input itself when there is nothing to do.
TensorPtr sum_to(Tensor* input, const Ints& size);
/// The reverse of a sum over `dim`, with or without keepdim: the input repeated until it has these sizes.
TensorPtr spread(Tensor* input, const Ints& size, const OptionalInts& dim);
/// A view with the dimensions `dim` of a tensor of `ndim` dimensions put back, with size 1.
TensorPtr keep_dims(Tensor* input, const OptionalInts& dim, int64_t ndim);

TensorPtr mean(Tensor* input, const OptionalInts& dim, bool keepdim, std::optional<DType> dtype);
TensorPtr mean_all(Tensor* input, std::optional<DType> dtype);
TensorPtr prod(Tensor* input, int64_t dim, bool keepdim, std::optional<DType> dtype);
TensorPtr prod_all(Tensor* input, std::optional<DType> dtype);

TensorPtr amax(Tensor* input, const OptionalInts& dim, bool keepdim);
TensorPtr amin(Tensor* input, const OptionalInts& dim, bool keepdim);
TensorPtr max_all(Tensor* input);
TensorPtr min_all(Tensor* input);
std::pair<TensorPtr, TensorPtr> max_dim(Tensor* input, int64_t dim, bool keepdim);
std::pair<TensorPtr, TensorPtr> min_dim(Tensor* input, int64_t dim, bool keepdim);
/// Least and greatest at once.
std::pair<TensorPtr, TensorPtr> aminmax(Tensor* input, std::optional<int64_t> dim, bool keepdim);
TensorPtr argmax(Tensor* input, std::optional<int64_t> dim, bool keepdim);
TensorPtr argmin(Tensor* input, std::optional<int64_t> dim, bool keepdim);
TensorPtr any(Tensor* input, const OptionalInts& dim, bool keepdim);
TensorPtr all(Tensor* input, const OptionalInts& dim, bool keepdim);

/// `correction` is what is taken off the count before dividing; 1 when missing.
TensorPtr var(Tensor* input, const OptionalInts& dim, std::optional<double> correction, bool keepdim);
TensorPtr standard_deviation(Tensor* input, const OptionalInts& dim, std::optional<double> correction, bool keepdim);
std::pair<TensorPtr, TensorPtr> var_mean(Tensor* input, const OptionalInts& dim, std::optional<double> correction,
                                         bool keepdim);
std::pair<TensorPtr, TensorPtr> std_mean(Tensor* input, const OptionalInts& dim, std::optional<double> correction,
                                         bool keepdim);
TensorPtr vector_norm(Tensor* input, double ord, const OptionalInts& dim, bool keepdim, std::optional<DType> dtype);
TensorPtr logsumexp(Tensor* input, const Ints& dim, bool keepdim);

}  // namespace adjoint::ops
