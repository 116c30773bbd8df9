#include "ops/views_copied.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

#include "core/lock.h"
#include "kernels/backend.h"
#include "ops/elementwise.h"
#include "ops/memory.h"

namespace adjoint::ops {

TensorPtr packed(const Tensor* tensor) {
  TensorPtr result = empty(tensor->sizes(), tensor->dtype, tensor->device);
  WithoutLock unlocked(result->numel());
  copy_into(tensor, result.get());
  return result;
}

TensorPtr clone_as(Tensor* input, std::optional<MemoryFormat> memory_format) {
  MemoryFormat format = memory_format.value_or(MemoryFormat::Preserve);
  if (format == MemoryFormat::Preserve) return clone(input);
  TensorPtr result = empty(shape_in_format(input->sizes(), format), input->dtype, input->device);
  copy_into(input, result.get());
  return result;
}

void write_part(const Tensor* src, Tensor* part) {
  if (!same_sizes(src->shape, part->shape))
    fail("expected src to have a size equal to the slice of self. src size = ", to_string(src->sizes()),
         ", slice size = ", to_string(part->sizes()));
  WithoutLock unlocked(src->numel());
  copy_into(src, part);
}

TensorPtr as_strided_scatter(Tensor* input, Tensor* src, Ints size, Ints stride,
                             std::optional<int64_t> storage_offset) {
  const int64_t room[] = {static_cast<int64_t>(input->storage->nbytes) / itemsize(input->dtype)};
  TensorPtr memory = clone(alias(input, make_shape(room), -input->offset()).get());
  TensorPtr result = alias(memory.get(), ShapePtr::borrow(input->shape), input->offset());
  write_part(src, as_strided(result.get(), size, stride, storage_offset).get());
  return result;
}

TensorPtr diag_embed(Tensor* input, int64_t offset, int64_t dim1, int64_t dim2) {
  int ndim = input->ndim() + 1;
  int a = wrap_dim(dim1, ndim), b = wrap_dim(dim2, ndim);
  if (a == b) fail("diagonal dimensions cannot be identical ", dim1, ", ", dim2);
  int64_t length;
  if (offset == INT64_MIN || __builtin_add_overflow(input->size(ndim - 2), std::abs(offset), &length))
    fail("diag_embed: the diagonal ", offset, " lies further out than can be addressed");
  Ints sizes;
  for (int d = 0, from = 0; d < ndim; ++d) sizes.push(d == a || d == b ? length : input->size(from++), "diag_embed");
  TensorPtr result = zeros(sizes, input->dtype, input->device);
  write_part(input, diagonal(result.get(), offset, a, b).get());
  return result;
}

TensorPtr block_diag(std::vector<Tensor*> tensors) {
  // Without tensors the result is an empty row, as torch's is.
  if (tensors.empty()) return empty(Sizes(std::array<int64_t, 2>{1, 0}), default_dtype(), DeviceType::Cpu);
  std::vector<Operand> operands(tensors.size());
  int64_t sizes[2] = {0, 0};
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i]->ndim() > 2)
      fail("torch.block_diag: Input tensors must have 2 or fewer dimensions. Input ", i, " has ", tensors[i]->ndim(),
           " dimensions");
    operands[i].set(tensors[i]);
    sizes[0] += tensors[i]->ndim() == 2 ? tensors[i]->size(0) : 1;
    sizes[1] += tensors[i]->ndim() > 0 ? tensors[i]->size(tensors[i]->ndim() - 1) : 1;
  }
  DType dtype = result_type(operands.data(), static_cast<int>(operands.size()));
  TensorPtr result = zeros(sizes, dtype, tensors[0]->device);
  View place = result->view();
  for (Tensor* tensor : tensors) {
    int64_t block[2] = {1, 1}, strides[2];
    std::copy_n(tensor->shape->sizes(), tensor->ndim(), block + 2 - tensor->ndim());
    place.sizes = block;
    on(place.device).memory.copy(expanded_view(tensor, block, strides), place);
    place = place.shifted(block[0] * place.strides[0] + block[1] * place.strides[1]);
  }
  return result;
}

}  // namespace adjoint::ops
