#include "core/memory_format.h"

#include <algorithm>

namespace adjoint {
namespace {

/// The dimensions from the innermost to the outermost, for channels last: channels, width, height, (depth,) batch.
int dimension_at(int place, int ndim) { return place == 0 ? 1 : place == ndim - 1 ? 0 : ndim - place; }

bool has_channels_last(const Shape* shape) {
  int ndim = shape->ndim;
  if ((ndim != 4 && ndim != 5) || shape->standard) return false;
  const int64_t *sizes = shape->sizes(), *strides = shape->strides();
  int64_t reach = 1;  // the least stride of the next dimension
  for (int place = 0; place < ndim; ++place) {
    int dim = dimension_at(place, ndim);
    if (sizes[dim] == 0 || strides[dim] < reach) return false;
    // Nothing but the batch is larger than 1, and all strides are alike: contiguous as much as channels last.
    if (dim == 0 && reach == strides[1]) return false;
    reach = strides[dim] * sizes[dim];
  }
  return true;
}

}  // namespace

MemoryFormat suggested_format(const Shape* shape) {
  return channels_last_format(shape->ndim, has_channels_last(shape));
}

bool lies_in(const Shape* shape, MemoryFormat format) {
  if (format == MemoryFormat::Contiguous || format == MemoryFormat::Preserve) return shape->contiguous;
  int ndim = format == MemoryFormat::ChannelsLast ? 4 : 5;
  if (shape->ndim != ndim) return false;
  int64_t expected = 1;
  for (int place = 0; place < ndim; ++place) {
    int dim = dimension_at(place, ndim);
    if (shape->sizes()[dim] == 1) continue;
    if (shape->strides()[dim] != expected) return false;
    expected *= shape->sizes()[dim];
  }
  return true;
}

ShapePtr shape_in_format(Sizes sizes, MemoryFormat format) {
  if (format == MemoryFormat::Contiguous) return make_shape(sizes);
  if (format == MemoryFormat::Preserve) fail("unsupported memory format Preserve");
  bool volume = format == MemoryFormat::ChannelsLast3d;
  int rank = volume ? 5 : 4;
  if (static_cast<int>(sizes.size()) != rank)
    fail("required rank ", rank, " tensor to use channels_last", volume ? "_3d" : "", " format");
  checked_numel(sizes);
  int64_t strides[5];
  int64_t stride = 1;
  for (int place = 0; place < rank; ++place) {
    int dim = dimension_at(place, rank);
    strides[dim] = stride;
    stride *= std::max<int64_t>(sizes[dim], 1);
  }
  return make_shape(sizes, {strides, static_cast<size_t>(rank)});
}

}  // namespace adjoint
