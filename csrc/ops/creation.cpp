#include "ops/creation.h"

#include <algorithm>

#include "core/deterministic.h"
#include "core/lock.h"
#include "kernels/backend.h"
#include "ops/memory.h"
#include "ops/numbers.h"

namespace adjoint::ops {
namespace {

TensorPtr zeros_of(ShapePtr shape, DType dtype, Device device) {
  TensorPtr result = empty(std::move(shape), dtype, device);
  WithoutLock unlocked(result->numel());
  on(device).memory.clear(result->view());
  return result;
}

TensorPtr filled_of(ShapePtr shape, const Scalar& value, DType dtype, Device device) {
  TensorPtr result = empty(std::move(shape), dtype, device);
  fill_value(result.get(), value);
  return result;
}

TensorPtr ones_of(ShapePtr shape, DType dtype, Device device) {
  TensorPtr result = empty(std::move(shape), dtype, device);
  fill(result.get(), Scalar::of(int64_t{1}));
  return result;
}

TensorPtr unset_of(ShapePtr shape, DType dtype, Device device) {
  TensorPtr result = empty(std::move(shape), dtype, device);
  mark_unset(result.get());
  return result;
}

/// Negative strides of dimensions that are never stepped along become those of packed ones, as in torch.
void replace_negative_strides(Sizes sizes, int64_t* strides) {
  const auto last = static_cast<int>(sizes.size()) - 1;
  for (int i = last; i >= 0; --i) {
    if (strides[i] >= 0) continue;
    const auto inner = i == last ? 1 : static_cast<uint64_t>(strides[i + 1]) * std::max<int64_t>(sizes[i + 1], 1);
    strides[i] = static_cast<int64_t>(inner);
  }
}

/// The elements between the first one and the last, both counted.
int64_t reach_of(Sizes sizes, Sizes strides) {
  auto overflow = [&] {
    fail("Storage size calculation overflowed with sizes=", to_string(sizes), " and strides=", to_string(strides));
  };
  if (checked_numel(sizes) == 0) return 0;
  int64_t elements = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    int64_t reach;
    if (strides[i] < 0 && sizes[i] > 1) overflow();
    if (__builtin_mul_overflow(sizes[i] - 1, strides[i], &reach) || __builtin_add_overflow(elements, reach, &elements))
      overflow();
  }
  if (elements > kMaxNumel) overflow();
  return elements;
}

TensorPtr strided_of(Sizes sizes, Sizes strides, DType dtype, Device device) {
  if (sizes.size() != strides.size())
    fail("dimensionality of sizes (", sizes.size(), ") must match dimensionality of strides (", strides.size(), ")");
  int64_t elements = reach_of(sizes, strides);
  int64_t taken[kMaxDims];
  std::copy(strides.begin(), strides.end(), taken);
  replace_negative_strides(sizes, taken);
  TensorPtr memory = empty({&elements, 1}, dtype, device);
  TensorPtr result = alias(memory.get(), make_shape(sizes, {taken, sizes.size()}));
  mark_unset(result.get());
  return result;
}

}  // namespace

DType CreationOptions::type(DType natural) const {
  DType chosen = dtype.value_or(natural);
  if (leaf) check_differentiable(chosen);
  return chosen;
}

void check_differentiable(DType dtype) {
  if (!is_differentiable(dtype))
    fail("Only Tensors of floating point and complex dtype can require gradients; got ", info(dtype).name,
         ": write the values as floats (1. for 1), or pass dtype=");
}

void mark_unset(Tensor* tensor) {
  if (fills_memory()) on(tensor->device).memory.fill_unset(tensor->view());
}

ShapePtr shape_like(const Tensor* tensor, std::optional<MemoryFormat> format) {
  if (format && *format != MemoryFormat::Preserve) return shape_in_format(tensor->sizes(), *format);
  return tensor->contiguous() ? ShapePtr::borrow(tensor->shape) : dense_shape(tensor->shape);
}

TensorPtr create_zeros(const SizeArgs& size, const CreationOptions& options) {
  return zeros_of(make_shape(size), options.type(default_dtype()), options.device);
}

TensorPtr create_ones(const SizeArgs& size, const CreationOptions& options) {
  return ones_of(make_shape(size), options.type(default_dtype()), options.device);
}
TensorPtr create_empty(const SizeArgs& size, std::optional<MemoryFormat> format, const CreationOptions& options) {
  DType dtype = options.type(default_dtype());
  return unset_of(shape_in_format(size, format.value_or(MemoryFormat::Contiguous)), dtype, options.device);
}
TensorPtr create_full(const SizeList& size, const Number& value, const CreationOptions& options) {
  return filled_of(make_shape(size), value.value, options.type(number_type(value.category)), options.device);
}
TensorPtr create_scalar(const Number& value, const CreationOptions& options) {
  return filled_of(scalar_shape(), value.value, options.type(default_dtype()), options.device);
}

TensorPtr create_strided(const SizeList& size, const SizeList& stride, const CreationOptions& options) {
  return strided_of(size, stride, options.type(default_dtype()), options.device);
}

TensorPtr create_permuted(const SizeList& size, const SizeList& layout, const CreationOptions& options) {
  DType dtype = options.type(default_dtype());
  if (size.size() != layout.size())
    fail("Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = ",
         size.size(), " is not equal to len(physical_layout) = ", layout.size());
  checked_numel(size);
  int64_t strides[kMaxDims], stride = 1;
  uint64_t seen = 0;
  for (size_t i = layout.size(); i-- > 0;) {
    int64_t dim = layout[i];
    if (dim < 0 || dim >= static_cast<int64_t>(size.size()))
      fail("Dimension out of range (expected to be between 0 and ", size.size() - 1, ", but got ", dim, " at index ", i,
           ").  NB: negative dims not currently supported; count from the front.");
    if (seen >> dim & 1) fail("Duplicate dim not allowed");
    seen |= uint64_t{1} << dim;
    strides[dim] = stride;
    stride *= std::max<int64_t>(size[dim], 1);
  }
  return strided_of(size, {strides, size.size()}, dtype, options.device);
}

TensorPtr create_eye(int64_t n, std::optional<int64_t> m, const CreationOptions& options) {
  if (n < 0) fail("n must be greater or equal to 0, got ", n);
  if (m && *m < 0) fail("m must be greater or equal to 0, got ", *m);
  const int64_t sizes[2] = {n, m.value_or(n)};
  TensorPtr result = zeros_of(make_shape(sizes), options.type(default_dtype()), options.device);
  const int64_t length = std::min(sizes[0], sizes[1]), step = sizes[1] + 1;
  dispatch_any(result->dtype, [&](auto tag) {
    auto one = convert<decltype(tag)>(int64_t{1});
    if (length > 0) on(result->device).memory.fill(result->view(1, &length, &step), &one);
  });
  return result;
}

TensorPtr zeros_like(Tensor* input, std::optional<MemoryFormat> format, const CreationOptions& options) {
  return zeros_of(shape_like(input, format), options.type(input->dtype), options.device);
}
TensorPtr ones_like(Tensor* input, std::optional<MemoryFormat> format, const CreationOptions& options) {
  return ones_of(shape_like(input, format), options.type(input->dtype), options.device);
}
TensorPtr empty_like(Tensor* input, std::optional<MemoryFormat> format, const CreationOptions& options) {
  return unset_of(shape_like(input, format), options.type(input->dtype), options.device);
}
TensorPtr full_like(Tensor* input, const Number& value, std::optional<MemoryFormat> format,
                    const CreationOptions& options) {
  return filled_of(shape_like(input, format), value.value, options.type(input->dtype), options.device);
}

TensorPtr new_zeros(Tensor* input, const SizeArgs& size, const CreationOptions& options) {
  return zeros_of(make_shape(size), options.type(input->dtype), options.device);
}
TensorPtr new_ones(Tensor* input, const SizeArgs& size, const CreationOptions& options) {
  return ones_of(make_shape(size), options.type(input->dtype), options.device);
}
TensorPtr new_empty(Tensor* input, const SizeArgs& size, const CreationOptions& options) {
  return unset_of(make_shape(size), options.type(input->dtype), options.device);
}
TensorPtr new_full(Tensor* input, const SizeList& size, const Number& value, const CreationOptions& options) {
  return filled_of(make_shape(size), value.value, options.type(input->dtype), options.device);
}
TensorPtr new_strided(Tensor* input, const SizeList& size, const SizeList& stride, const CreationOptions& options) {
  return strided_of(size, stride, options.type(input->dtype), options.device);
}

}  // namespace adjoint::ops
