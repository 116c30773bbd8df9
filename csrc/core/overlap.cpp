#include "core/overlap.h"

#include <algorithm>

namespace adjoint {
namespace {

/// Past the last byte of a tensor that has elements.
const char* end_of(const Tensor* tensor) {
  int64_t reach = 0;
  for (int d = 0; d < tensor->ndim(); ++d) reach += (tensor->size(d) - 1) * tensor->stride(d);
  return tensor->data + (reach + 1) * itemsize(tensor->dtype);
}

bool same_geometry(const Tensor* a, const Tensor* b) {
  if (a->data != b->data || !same_sizes(a->shape, b->shape)) return false;
  for (int d = 0; d < a->ndim(); ++d)
    if (a->size(d) != 1 && a->stride(d) != b->stride(d)) return false;
  return true;
}

}  // namespace

Overlap overlap(const Tensor* target, const Tensor* other, Sizes sizes) {
  if (target == other) return Overlap::Whole;
  int64_t count = 1;
  for (int64_t size : sizes) count *= size;
  if (target->storage != other->storage || count == 0 || other->numel() == 0) return Overlap::None;
  bool resized = !std::equal(sizes.begin(), sizes.end(), target->sizes().begin(), target->sizes().end());
  const char* end = resized ? target->data + count * itemsize(target->dtype) : end_of(target);
  if (end <= other->data || end_of(other) <= target->data) return Overlap::None;
  if (!resized && same_geometry(target, other)) return Overlap::Whole;
  return (resized || is_dense(target->shape)) && is_dense(other->shape) ? Overlap::Part : Overlap::Unknown;
}

void check_overlap(const Tensor* target, const Tensor* other, Allowed allowed, Sizes sizes) {
  Overlap found = overlap(target, other, sizes);
  if (found == Overlap::None || found == Overlap::Unknown) return;
  if (found == Overlap::Whole && (allowed == Allowed::Whole || (target != other && !is_dense(target->shape)))) return;
  fail(
      "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
      "location. Please clone() the tensor before performing the operation.");
}

}  // namespace adjoint
