#include "ops/pieces.h"

#include <algorithm>

#include "ops/views.h"

namespace adjoint::ops {
namespace {

/// The shape of `length` neighbours along a dimension.
ShapePtr part_shape(const Tensor* input, int dim, int64_t length) {
  int64_t sizes[kMaxDims];
  std::copy_n(input->shape->sizes(), input->ndim(), sizes);
  sizes[dim] = length;
  return make_shape({sizes, static_cast<size_t>(input->ndim())}, input->strides());
}

std::vector<TensorPtr> with_own_versions(std::vector<TensorPtr> pieces) {
  for (TensorPtr& piece : pieces) detach_version(piece.get());
  return pieces;
}

}  // namespace

int dim_to_split(const Tensor* input, int64_t dim, const char* op) {
  if (input->ndim() == 0) fail(op, " expects at least a 1-dimensional tensor");
  return wrap_dim(dim, input->ndim());
}

std::vector<TensorPtr> split_evenly(Tensor* input, int64_t split_size, int64_t dim) {
  int d = dim_to_split(input, dim, "split");
  if (split_size < 0) fail("split expects split_size be non-negative, but got split_size=", split_size);
  const int64_t whole = input->size(d), stride = input->stride(d);
  if (split_size == 0 && whole != 0)
    fail("split_size can only be 0 if dimension size is 0, but got dimension size of ", whole);
  std::vector<TensorPtr> pieces;
  if (whole > 0) pieces.reserve(whole / split_size + (whole % split_size != 0));
  // Pieces of one length share their shape.
  ShapePtr shape = part_shape(input, d, std::min(split_size, whole));
  int64_t start = 0;
  for (; whole - start > split_size; start += split_size)
    pieces.push_back(alias(input, ShapePtr::borrow(shape.get()), start * stride));
  if (start > 0 && whole - start < split_size) shape = part_shape(input, d, whole - start);
  pieces.push_back(alias(input, std::move(shape), start * stride));
  return pieces;
}

std::vector<TensorPtr> split_with_sizes(Tensor* input, const std::vector<int64_t>& split_sizes, int64_t dim) {
  int d = dim_to_split(input, dim, "split_with_sizes");
  int64_t total = 0;
  for (int64_t size : split_sizes) {
    if (size < 0)
      fail("split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes=",
           to_string(split_sizes));
    if (__builtin_add_overflow(total, size, &total)) total = -1;
    if (total < 0) break;
  }
  if (total != input->size(d))
    fail("split_with_sizes expects split_sizes to sum exactly to ", input->size(d),
         " (input tensor's size at dimension ", d, "), but got split_sizes=", to_string(split_sizes),
         total < 0 ? "" : "; they sum to " + std::to_string(total));
  std::vector<TensorPtr> pieces;
  pieces.reserve(split_sizes.size());
  int64_t start = 0;
  for (int64_t size : split_sizes) {
    pieces.push_back(alias(input, part_shape(input, d, size), start * input->stride(d)));
    start += size;
  }
  return pieces;
}

std::vector<TensorPtr> unbind(Tensor* input, int64_t dim) {
  if (input->ndim() == 0) fail(ErrorKind::Index, "Dimension specified as ", dim, " but tensor has no dimensions");
  int d = wrap_dim(dim, input->ndim());
  std::vector<TensorPtr> pieces;
  pieces.reserve(input->size(d));
  if (input->size(d) > 0) pieces.push_back(select(input, d, 0));
  // The pieces have one shape, which they share.
  for (int64_t i = 1; i < input->size(d); ++i)
    pieces.push_back(alias(input, ShapePtr::borrow(pieces[0]->shape), i * input->stride(d)));
  return pieces;
}

std::vector<TensorPtr> unsafe_split(Tensor* input, int64_t split_size, int64_t dim) {
  return with_own_versions(split_evenly(input, split_size, dim));
}
std::vector<TensorPtr> unsafe_split_with_sizes(Tensor* input, const std::vector<int64_t>& split_sizes, int64_t dim) {
  return with_own_versions(split_with_sizes(input, split_sizes, dim));
}

}  // namespace adjoint::ops
