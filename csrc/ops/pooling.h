// Pooling in one to three dimensions: greatest elements and means over windows, their gradients, and unpooling.
#pragma once

#include <optional>
#include <utility>

#include "core/ints.h"
#include "core/tensor.h"

namespace adjoint::ops {

// The number of dimensions is that of `kernel_size` or `output_size`; inputs may have a batch in front. Indices count
// the elements of a channel.

std::pair<TensorPtr, TensorPtr> max_pool(Tensor* input, const Ints& kernel_size, const Ints& stride,
                                         const Ints& padding, const Ints& dilation, bool ceil_mode);
/// The same without the indices.
TensorPtr max_pool_values(Tensor* input, const Ints& kernel_size, const Ints& stride, const Ints& padding,
                          const Ints& dilation, bool ceil_mode);
std::pair<TensorPtr, TensorPtr> adaptive_max_pool(Tensor* input, const Ints& output_size);
std::pair<TensorPtr, TensorPtr> fractional_max_pool(Tensor* input, const Ints& kernel_size, const Ints& output_size,
                                                    Tensor* random_samples);
/// Zeros of `size` for each channel, with sums of the gradient's elements where the indices say.
TensorPtr max_pool_backward(Tensor* grad, Tensor* indices, const Ints& size, bool channels_last);

TensorPtr avg_pool(Tensor* input, const Ints& kernel_size, const Ints& stride, const Ints& padding, bool ceil_mode,
                   bool count_include_pad, std::optional<int64_t> divisor_override);
TensorPtr avg_pool_backward(Tensor* grad, const Ints& size, const Ints& kernel_size, const Ints& stride,
                            const Ints& padding, bool ceil_mode, bool count_include_pad,
                            std::optional<int64_t> divisor_override, bool channels_last);
TensorPtr adaptive_avg_pool(Tensor* input, const Ints& output_size);
TensorPtr adaptive_avg_pool_backward(Tensor* grad, const Ints& size, bool channels_last);

TensorPtr max_unpool(Tensor* input, Tensor* indices, const Ints& output_size);

}  // namespace adjoint::ops
