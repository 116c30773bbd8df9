// Shapes: sizes and strides, immutable and shared between the tensors that have them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/ref.h"
#include "core/view.h"

namespace adjoint {

/// Note [Shared shapes]: an elementwise result shares its input's Shape, so that "same shape, contiguous" is one
/// pointer comparison on the fast path and a tensor needs 8 bytes for its geometry whatever its number of dimensions.
struct Shape {
  uint32_t refs;
  uint8_t ndim;
  bool contiguous;  ///< row-major without gaps (dimensions of size 1 do not matter)
  bool standard;    ///< contiguous, and dimensions of size 1 have the strides that make_shape(sizes) gives them
  int64_t numel;
  int64_t values[];  ///< ndim sizes, then ndim strides (in elements)

  const int64_t* sizes() const { return values; }
  const int64_t* strides() const { return values + ndim; }
  std::span<const int64_t> size_span() const { return {values, ndim}; }
  std::span<const int64_t> stride_span() const { return {values + ndim, ndim}; }
};

void destroy_shape(Shape* shape);
inline void retain(Shape* shape) { ++shape->refs; }
inline void release(Shape* shape) {
  if (--shape->refs == 0) destroy_shape(shape);
}
using ShapePtr = Ref<Shape>;
using Sizes = std::span<const int64_t>;

/// Row-major shape of these sizes. Throws on negative sizes, too many dimensions, or overflow.
ShapePtr make_shape(Sizes sizes);
ShapePtr make_shape(Sizes sizes, Sizes strides);
/// The shape of a 0-d tensor.
ShapePtr scalar_shape();

bool same_sizes(const Shape* a, const Shape* b);
/// "[2, 3]", as torch writes sizes in messages.
std::string to_string(Sizes sizes);

/// No type has elements so small that more of them could be addressed.
inline constexpr int64_t kMaxNumel = INT64_MAX >> 4;
/// Product of sizes; throws when it is more than that.
int64_t checked_numel(Sizes sizes);

/// True when every element has its own place and the places fill one block (any order of dimensions).
bool is_dense(const Shape* shape);
/// Strides of a dense tensor of `sizes` whose dimensions are ordered in memory as in `like`, the strides of one or
/// more tensors of these sizes: the first decides, where it leaves the order open the next.
void dense_strides_like(Sizes sizes, std::span<const int64_t* const> like, int64_t* strides);
inline void dense_strides_like(Sizes sizes, Sizes like, int64_t* strides) {
  const int64_t* one[] = {like.data()};
  dense_strides_like(sizes, one, strides);
}
/// The shape of a copy that keeps the order of dimensions in memory: the shape itself when it is dense.
ShapePtr dense_shape(Shape* shape);

/// Sizes after broadcasting; writes at most kMaxDims entries to `out` and returns the count. Throws torch's message.
int broadcast_sizes(Sizes a, Sizes b, int64_t* out);
/// Strides of a view of `shape` broadcast to `sizes` (0 where repeated). The caller knows that it broadcasts.
void broadcast_strides(const Shape* shape, Sizes sizes, int64_t* strides);

/// Wraps a negative dimension; throws IndexError with torch's words when out of range.
int wrap_dim(int64_t dim, int ndim);

}  // namespace adjoint
