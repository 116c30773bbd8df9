#include "ops/joining.h"

#include <algorithm>
#include <array>

#include "core/lock.h"
#include "core/memory_format.h"
#include "kernels/backend.h"
#include "kernels/gathering.h"
#include "ops/advice.h"
#include "ops/memory.h"
#include "ops/views.h"
#include "ops/views_copied.h"

namespace adjoint::ops {
namespace {

DType common_type(const std::vector<Tensor*>& tensors) {
  DType dtype = tensors[0]->dtype;
  for (Tensor* tensor : tensors) dtype = promote(dtype, tensor->dtype);
  return dtype;
}

void check_one_device(const char* op, const std::vector<Tensor*>& tensors) {
  for (const Tensor* tensor : tensors)
    if (tensor->device != tensors[0]->device) refuse_devices(op, tensor->device, tensors[0]->device);
}

/// Copies the pieces one after the other along `dim` of `out`; the sizes are known to fit.
void write_pieces(const std::vector<View>& pieces, int dim, Tensor* out) {
  WithoutLock unlocked(out->numel());
  kernels::Gathering together(out->device);
  View target = out->view();
  for (const View& piece : pieces) {
    target.sizes = piece.sizes;
    on(out->device).memory.copy(piece, target);
    target = target.shifted(piece.sizes[dim] * target.strides[dim]);
  }
  together.end();
}

/// Reads a tensor with some dimensions reversed.
class Reversed {
 public:
  explicit Reversed(const Tensor* input)
      : view_(input->view(input->ndim(), input->shape->sizes(), strides_)), empty_(input->numel() == 0) {
    std::copy_n(input->shape->strides(), input->ndim(), strides_);
  }
  Reversed(const Reversed&) = delete;
  void reverse(int dim) {
    if (empty_) return;
    view_ = view_.shifted((view_.sizes[dim] - 1) * strides_[dim]);
    strides_[dim] = -strides_[dim];
  }
  const View& operator*() const { return view_; }

 private:
  int64_t strides_[kMaxDims];
  View view_;
  bool empty_;
};

TensorPtr rolled(Tensor* input, int64_t shift, int dim) {
  int64_t size = input->size(dim);
  if (size == 0) return clone(input);
  TensorPtr result = empty(input->sizes(), input->dtype, input->device);
  if (result->numel() == 0) return result;
  int64_t start = size - ((shift % size) + size) % size;  // the element that comes first
  if (!input->contiguous()) {
    TensorPtr tail = slice(input, dim, start, size, 1), head = slice(input, dim, 0, start, 1);
    write_pieces({tail->view(), head->view()}, dim, result.get());
    return result;
  }
  WithoutLock unlocked(input->numel());
  on(input->device).structure.roll(input->view(), dim, start, result->view());
  return result;
}

TensorPtr triangle(const char* op, Tensor* input, int64_t diagonal, kernels::Structure::Triangle* kernel) {
  if (input->ndim() < 2) fail(op, ": input tensor must have at least 2 dimensions; got ", to_string(input->sizes()));
  TensorPtr result = empty(input->sizes(), input->dtype, input->device);
  WithoutLock unlocked(input->numel());
  kernel(input->view(), diagonal, result->view());
  return result;
}

/// The format that all tensors are in, contiguous if they differ; empty vectors, which cat() passes over, do not count.
MemoryFormat common_format(const std::vector<Tensor*>& tensors) {
  MemoryFormat common = MemoryFormat::Contiguous;
  bool first = true;
  for (const Tensor* tensor : tensors) {
    if (tensor->ndim() == 1 && tensor->numel() == 0) continue;
    MemoryFormat format = suggested_format(tensor->shape);
    if (!first && format != common) return MemoryFormat::Contiguous;
    common = format;
    first = false;
  }
  return common;
}

/// The shape of stack(): what cat() along the dimension gives, which is split there.
ShapePtr stacked_shape(const std::vector<Tensor*>& tensors, int d) {
  const Tensor* model = tensors[0];
  auto count = static_cast<int64_t>(tensors.size());
  int n = model->ndim();
  int64_t sizes[kMaxDims], strides[kMaxDims];
  std::copy_n(model->sizes().begin(), n, sizes);
  MemoryFormat format = d < n ? common_format(tensors) : MemoryFormat::Contiguous;
  if (format == MemoryFormat::Contiguous) {
    std::copy_backward(sizes + d, sizes + n, sizes + n + 1);
    sizes[d] = count;
    return make_shape({sizes, static_cast<size_t>(n) + 1});
  }
  sizes[d] *= count;
  ShapePtr joined = shape_in_format({sizes, static_cast<size_t>(n)}, format);
  std::copy_n(joined->strides(), n, strides);
  std::copy_backward(strides + d, strides + n, strides + n + 1);
  std::copy_backward(sizes + d, sizes + n, sizes + n + 1);
  sizes[d] = count;
  sizes[d + 1] = model->size(d);
  strides[d] = strides[d + 1] * model->size(d);
  return make_shape({sizes, static_cast<size_t>(n) + 1}, {strides, static_cast<size_t>(n) + 1});
}

}  // namespace

TensorPtr cat(std::vector<Tensor*> tensors, int64_t dim) {
  if (tensors.empty()) fail(ErrorKind::Value, "torch.cat(): expected a non-empty list of Tensors");
  auto counts = [](const Tensor* tensor) { return tensor->ndim() != 1 || tensor->size(0) != 0; };
  for (size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i]->ndim() == 0)
      fail("zero-dimensional tensor (at position ", i, ") cannot be concatenated; use stack()");
  DType dtype = common_type(tensors);
  auto first = std::find_if(tensors.begin(), tensors.end(), counts);
  check_one_device("cat", tensors);
  if (first == tensors.end()) return empty(tensors[0]->sizes(), dtype, tensors[0]->device);
  const Tensor* model = *first;
  int d = wrap_dim(dim, model->ndim());
  Ints sizes;
  for (int64_t size : model->sizes()) sizes.push(size, "cat");
  int64_t total = 0;
  std::vector<View> pieces;
  pieces.reserve(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor* tensor = tensors[i];
    if (!counts(tensor)) continue;
    if (tensor->ndim() != model->ndim())
      fail("Tensors must have same number of dimensions: got ", model->ndim(), " and ", tensor->ndim(),
           "; the first is ", to_string(model->sizes()), ", tensor number ", i, " ", to_string(tensor->sizes()),
           ": unsqueeze() adds a dimension, and stack() a new one to all");
    for (int k = 0; k < model->ndim(); ++k)
      if (k != d && tensor->size(k) != model->size(k))
        fail("Sizes of tensors must match except in dimension ", d, ". Expected size ", model->size(k),
             " but got size ", tensor->size(k), " for tensor number ", i, " in the list.",
             advice::fitting_dimension(model->sizes(), tensor->sizes(), d));
    total += tensor->size(d);
    pieces.push_back(tensor->view());
  }
  int64_t shape[kMaxDims];
  std::copy(sizes.begin(), sizes.end(), shape);
  shape[d] = total;
  TensorPtr result = empty(shape_in_format({shape, sizes.size()}, common_format(tensors)), dtype, model->device);
  write_pieces(pieces, d, result.get());
  return result;
}

TensorPtr stack(std::vector<Tensor*> tensors, int64_t dim) {
  if (tensors.empty()) fail("stack expects a non-empty TensorList");
  const Tensor* model = tensors[0];
  int d = wrap_dim(dim, model->ndim() + 1);
  std::vector<TensorPtr> owned;
  std::vector<View> pieces;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!same_sizes(tensors[i]->shape, model->shape))
      fail("stack expects each tensor to be equal size, but got ", to_string(model->sizes()), " at entry 0 and ",
           to_string(tensors[i]->sizes()), " at entry ", i, "; pad or cut them to one size, or join them with cat()");
    owned.push_back(unsqueeze(tensors[i], d));
    pieces.push_back(owned.back()->view());
  }
  check_one_device("stack", tensors);
  TensorPtr result = empty(stacked_shape(tensors, d), common_type(tensors), model->device);
  write_pieces(pieces, d, result.get());
  return result;
}

TensorPtr flip(Tensor* input, Ints dims) {
  Reversed reversed(input);
  uint64_t seen = 0;
  for (int64_t dim : dims) {
    int d = wrap_dim(dim, input->ndim());
    if (seen >> d & 1) fail("dim ", d, " appears multiple times in the list of dims");
    seen |= uint64_t{1} << d;
    if (input->ndim() > 0) reversed.reverse(d);
  }
  TensorPtr result = empty(dense_shape(input->shape), input->dtype, input->device);
  WithoutLock unlocked(input->numel());
  on(input->device).memory.copy(*reversed, result->view());
  return result;
}

TensorPtr roll(Tensor* input, Ints shifts, std::optional<Ints> along) {
  Ints dims = along.value_or(Ints());
  if (shifts.empty()) fail("`shifts` required");
  if (dims.empty() && shifts.size() == 1) {
    TensorPtr flat = alias(contiguous(input).get(), make_shape(std::array{input->numel()}));
    return alias(rolled(flat.get(), shifts[0], 0).get(), make_shape(input->sizes()));
  }
  if (shifts.size() != dims.size())
    fail("shifts and dimensions must align. shifts: ", shifts.size(), ", dims:", dims.size());
  TensorPtr result = TensorPtr::borrow(input);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (input->ndim() == 0) fail(ErrorKind::Index, "Dimension specified as ", dims[i], " but tensor has no dimensions");
    result = rolled(result.get(), shifts[i], wrap_dim(dims[i], input->ndim()));
  }
  return in_format(std::move(result), suggested_format(input->shape));
}

TensorPtr rot90(Tensor* input, int64_t k, Ints dims) {
  if (dims.size() != 2) fail("expected total rotation dims == 2, but got dims = ", dims.size());
  if (input->ndim() < 2) fail("expected total dims >= 2, but got total dims = ", input->ndim());
  int a = wrap_dim(dims[0], input->ndim()), b = wrap_dim(dims[1], input->ndim());
  if (a == b) fail("expected rotation dims to be different, but got dim0 = ", dims[0], " and dim1 = ", dims[1]);
  int64_t turns = ((k % 4) + 4) % 4;
  if (turns == 0) return packed(input);
  // One or both dimensions reversed, then swapped without moving anything.
  Ints reversed;
  if (turns != 3) reversed.push(b, "rot90");
  if (turns != 1) reversed.push(a, "rot90");
  TensorPtr result = flip(input, reversed);
  return turns == 2 ? result : transpose(result.get(), a, b);
}

TensorPtr repeat(Tensor* input, Ints repeats) {
  int lead = static_cast<int>(repeats.size()) - input->ndim();
  if (lead < 0)
    fail("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor; got ",
         repeats.size(), " repeats for ", to_string(input->sizes()));
  int64_t sizes[kMaxDims];
  for (size_t i = 0; i < repeats.size(); ++i) {
    int64_t size = static_cast<int>(i) < lead ? 1 : input->size(static_cast<int>(i) - lead);
    if (__builtin_mul_overflow(size, repeats[i], &sizes[i]))
      fail("repeat: ", to_string(repeats), " is too often for ", to_string(input->sizes()));
  }
  TensorPtr result = empty({sizes, repeats.size()}, input->dtype, input->device);
  // Both seen with each repeated dimension split in two: which repetition, and where in it.
  int n = 0;
  int64_t split[2 * kMaxDims], from[2 * kMaxDims], to[2 * kMaxDims];
  auto push = [&](int64_t size, int64_t source, int64_t target) {
    split[n] = size;
    from[n] = source;
    to[n++] = target;
  };
  for (int i = 0; i < static_cast<int>(repeats.size()); ++i) {
    int64_t size = i < lead ? 1 : input->size(i - lead), stride = i < lead ? 0 : input->stride(i - lead);
    if (repeats[i] != 1) push(repeats[i], 0, size * result->stride(i));
    if (size != 1) push(size, stride, result->stride(i));
  }
  if (n > kMaxDims)
    fail("repeat: at most ", kMaxDims, " dimensions are supported, each repeated one counting twice; got ", n);
  WithoutLock unlocked(result->numel());
  on(input->device).memory.copy(input->view(n, split, from), result->view(n, split, to));
  return result;
}

TensorPtr interleaved_index(Tensor* repeats, std::optional<int64_t> output_size) {
  if (repeats->ndim() > 1) fail("repeat_interleave only accept 1D vector as repeat; got ", to_string(repeats->sizes()));
  if (repeats->dtype != DType::Int64 && repeats->dtype != DType::Int32)
    fail_not_implemented("repeat_interleave_cpu", repeats->dtype);
  TensorPtr counts = cast(contiguous(repeats).get(), DType::Int64);
  const kernels::Structure& kernels = on(counts->device).structure;
  if (output_size) kernels.check_repeats(counts->view(), *output_size);
  int64_t total = output_size ? *output_size : kernels.total_repeats(counts->view());
  TensorPtr result = empty(std::array{total}, DType::Int64, counts->device);
  kernels.repeat_places(counts->view(), result->view());
  return result;
}

TensorPtr tril(Tensor* input, int64_t diagonal) {
  return triangle("tril", input, diagonal, on(input->device).structure.tril);
}
TensorPtr triu(Tensor* input, int64_t diagonal) {
  return triangle("triu", input, diagonal, on(input->device).structure.triu);
}

}  // namespace adjoint::ops
