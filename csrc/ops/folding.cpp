#include "ops/folding.h"

#include <algorithm>

#include "core/lock.h"
#include "kernels/backend.h"
#include "ops/memory.h"

namespace adjoint::ops {
namespace {

using kernels::FoldShape;

std::string pair(const int64_t* sizes) {
  return "(" + std::to_string(sizes[0]) + ", " + std::to_string(sizes[1]) + ")";
}

void take_two(const char* name, const Ints& given, int64_t least, const char* complaint, int64_t* target) {
  if (given.size() != 1 && given.size() != 2)
    fail("It is expected ", name, " equals to 2, but got size ", given.size());
  target[0] = given[0];
  target[1] = given[given.size() - 1];
  constexpr int64_t most = int64_t{1} << 31;
  if (std::max(target[0], target[1]) > most) fail(name, " should be below 2^31, but got ", pair(target));
  if (std::min(target[0], target[1]) < least)
    fail(name, " should be ", complaint, ", but got height: ", target[0], " width: ", target[1]);
}

FoldShape fold_shape(const Ints& kernel, const Ints& dilation, const Ints& padding, const Ints& stride) {
  FoldShape shape{};
  take_two("kernel size", kernel, 1, "greater than zero", shape.kernel);
  take_two("dilation", dilation, 1, "greater than zero", shape.dilation);
  take_two("padding", padding, 0, "non-negative", shape.padding);
  take_two("stride", stride, 1, "greater than zero", shape.stride);
  return shape;
}

void count_blocks(FoldShape& shape) {
  for (int d = 0; d < 2; ++d) {
    const int64_t room = shape.size[d] + 2 * shape.padding[d] - shape.dilation[d] * (shape.kernel[d] - 1) - 1;
    shape.blocks[d] = room < 0 ? 0 : room / shape.stride[d] + 1;
  }
  if (shape.blocks[0] < 1 || shape.blocks[1] < 1)
    fail("Given input with spatial size ", pair(shape.size), ", kernel_size=", pair(shape.kernel),
         ", dilation=", pair(shape.dilation), ", padding=", pair(shape.padding),
         ", calculated shape of the array of sliding blocks as ", pair(shape.blocks),
         ", but its components must be at least one.");
}

}  // namespace

TensorPtr im2col(Tensor* input, const Ints& kernel_size, const Ints& dilation, const Ints& padding,
                 const Ints& stride) {
  FoldShape shape = fold_shape(kernel_size, dilation, padding, stride);
  const int n = input->ndim();
  const bool batched = n == 4;
  const bool empty_sizes = (n == 3 || batched) && std::any_of(input->sizes().begin() + (batched ? 1 : 0),
                                                              input->sizes().end(), [](int64_t s) { return s == 0; });
  if ((n != 3 && !batched) || empty_sizes)
    fail(
        "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but "
        "got: ",
        to_string(input->sizes()));
  if (category(input->dtype) == Category::Integer) fail_not_implemented("im2col_out_cpu", input->dtype);
  std::copy_n(input->sizes().end() - 2, 2, shape.size);
  count_blocks(shape);
  const int64_t channels = input->size(n - 3);
  shape.planes = batched ? input->size(0) * channels : channels;
  const int64_t sizes[] = {batched ? input->size(0) : 1, channels * shape.kernel[0] * shape.kernel[1],
                           shape.blocks[0] * shape.blocks[1]};
  TensorPtr source = contiguous(input);
  TensorPtr result = empty(Sizes(sizes + !batched, batched ? 3 : 2), input->dtype, input->device);
  WithoutLock unlocked(result->numel());
  on(input->device).folding.unfold(shape, source->view(), result->view());
  return result;
}

TensorPtr col2im(Tensor* input, const Ints& output_size, const Ints& kernel_size, const Ints& dilation,
                 const Ints& padding, const Ints& stride) {
  FoldShape shape = fold_shape(kernel_size, dilation, padding, stride);
  take_two("output_size", output_size, 1, "greater than zero", shape.size);
  const int n = input->ndim();
  const bool batched = n == 3;
  const bool empty_sizes = (n == 2 || batched) && std::any_of(input->sizes().begin() + (batched ? 1 : 0),
                                                              input->sizes().end(), [](int64_t s) { return s == 0; });
  if ((n != 2 && !batched) || empty_sizes)
    fail(
        "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for input, "
        "but got: ",
        to_string(input->sizes()));
  if (!is_differentiable(input->dtype)) fail_not_implemented("col2im_out_cpu", input->dtype);
  const int64_t window = shape.kernel[0] * shape.kernel[1], rows = input->size(n - 2), columns = input->size(n - 1);
  if (rows % window)
    fail("Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got input.size(1)=",
         rows, " and kernel_size=", pair(shape.kernel), ".");
  count_blocks(shape);
  if (columns != shape.blocks[0] * shape.blocks[1])
    fail("Given output_size=", pair(shape.size), ", kernel_size=", pair(shape.kernel),
         ", dilation=", pair(shape.dilation), ", padding=", pair(shape.padding), ", stride=", pair(shape.stride),
         ", expected size of input's dimension 2 to match the calculated number of sliding blocks ", shape.blocks[0],
         " * ", shape.blocks[1], " = ", shape.blocks[0] * shape.blocks[1], ", but got input.size(2)=", columns, ".");
  const int64_t sizes[] = {batched ? input->size(0) : 1, rows / window, shape.size[0], shape.size[1]};
  shape.planes = sizes[0] * sizes[1];
  const DType compute = itemsize(input->dtype) == 2 ? DType::Float32 : input->dtype;
  TensorPtr source = contiguous(input, compute);
  TensorPtr result = empty(Sizes(sizes + !batched, batched ? 4 : 3), compute, input->device);
  {
    WithoutLock unlocked(input->numel());
    on(input->device).folding.fold(shape, source->view(), result->view());
  }
  return cast(result.get(), input->dtype);
}

}  // namespace adjoint::ops
