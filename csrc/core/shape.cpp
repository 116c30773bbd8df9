// Shapes: made, shared and recycled; broadcasting and strides.
#include "core/shape.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <numeric>

namespace adjoint {
namespace {

constexpr int kCachedDims = 6;
constexpr int kCachedShapes = 256;
struct FreeList {
  Shape* items[kCachedShapes];
  int count = 0;
};
FreeList free_shapes[kCachedDims + 1];

Shape* allocate_shape(int ndim) {
  if (ndim <= kCachedDims && free_shapes[ndim].count > 0) return free_shapes[ndim].items[--free_shapes[ndim].count];
  void* memory = std::malloc(sizeof(Shape) + 2 * ndim * sizeof(int64_t));
  if (!memory) throw std::bad_alloc();
  return static_cast<Shape*>(memory);
}

/// The product of sizes of 0 or more, or -1 when it is too much to address.
int64_t product_of(Sizes sizes) {
  int64_t numel = 1;
  for (int64_t size : sizes)
    if (__builtin_mul_overflow(numel, size, &numel)) return -1;
  return numel > kMaxNumel ? -1 : numel;
}

void check_not_negative(Sizes sizes) {
  for (int64_t size : sizes)
    if (size < 0)
      fail("Trying to create tensor with negative dimension ", size, ": ", to_string(sizes),
           "; sizes must be 0 or more");
}

/// A shape of so many dimensions, of which nothing else is known yet.
ShapePtr start_shape(Sizes sizes) {
  if (sizes.size() > kMaxDims)
    fail("a tensor has at most ", kMaxDims, " dimensions; got ", sizes.size(), "; merge some of them");
  Shape* shape = allocate_shape(static_cast<int>(sizes.size()));
  shape->refs = 1;
  shape->ndim = static_cast<uint8_t>(sizes.size());
  return ShapePtr::steal(shape);
}

}  // namespace

void destroy_shape(Shape* shape) {
  if (kReuseMemory && shape->ndim <= kCachedDims) {
    FreeList& list = free_shapes[shape->ndim];
    if (list.count < kCachedShapes) {
      list.items[list.count++] = shape;
      return;
    }
  }
  std::free(shape);
}

int64_t checked_numel(Sizes sizes) {
  check_not_negative(sizes);
  int64_t numel = product_of(sizes);
  if (numel < 0)
    fail("numel: integer multiplication overflow; the sizes ", to_string(sizes),
         " ask for more elements than can be addressed");
  return numel;
}

/// The stride of the dimension outside of one of this size and stride. An empty tensor can have sizes whose product
/// overflows; its strides are never used to reach memory.
static int64_t outer_stride(int64_t size, int64_t stride) {
  return static_cast<int64_t>(static_cast<uint64_t>(stride) * static_cast<uint64_t>(std::max<int64_t>(size, 1)));
}

/// Says what is wrong with sizes of which no dense shape can be made.
[[noreturn, gnu::cold]] static void refuse_sizes(Sizes sizes) {
  check_not_negative(sizes);
  if (product_of(sizes) < 0)
    fail("Storage size calculation overflowed with sizes=", to_string(sizes),
         ": they ask for more elements than can be addressed");
  fail("Stride calculation overflowed: the sizes are ", to_string(sizes));
}

/// A row: what most small tensors are.
static ShapePtr make_row(int64_t size) {
  Shape* shape = allocate_shape(1);
  shape->refs = 1;
  shape->ndim = 1;
  shape->numel = size;
  shape->values[0] = size;
  shape->values[1] = 1;
  shape->contiguous = true;
  shape->standard = true;
  return ShapePtr::steal(shape);
}

ShapePtr make_shape(Sizes sizes) {
  if (sizes.size() == 1 && sizes[0] >= 0 && sizes[0] <= kMaxNumel) return make_row(sizes[0]);
  ShapePtr shape = start_shape(sizes);
  int64_t* strides = shape->values + sizes.size();
  int64_t numel = 1, stride = 1;
  bool wrong = false, overflow = false;
  for (int64_t size : sizes) wrong |= size < 0 || __builtin_mul_overflow(numel, size, &numel);
  for (size_t i = sizes.size(); i-- > 0;) {
    wrong |= overflow;  // which an empty tensor's strides can; torch refuses them
    shape->values[i] = sizes[i];
    strides[i] = stride;
    overflow = __builtin_mul_overflow(stride, std::max<int64_t>(sizes[i], 1), &stride);
  }
  if (wrong || numel > kMaxNumel) refuse_sizes(sizes);
  shape->numel = numel;
  shape->contiguous = true;
  shape->standard = true;
  return shape;
}

ShapePtr make_shape(Sizes sizes, Sizes strides) {
  const int64_t numel = checked_numel(sizes);
  ShapePtr shape = start_shape(sizes);
  shape->numel = numel;
  std::copy(sizes.begin(), sizes.end(), shape->values);
  std::copy(strides.begin(), strides.end(), shape->values + shape->ndim);
  int64_t expected = 1;
  bool contiguous = true, standard = true;
  for (int i = shape->ndim - 1; i >= 0 && (contiguous || shape->numel == 0); --i) {
    bool fits = strides[i] == expected;
    standard &= fits;
    contiguous &= fits || sizes[i] == 1;
    expected = outer_stride(sizes[i], expected);
  }
  shape->contiguous = contiguous || shape->numel == 0;
  shape->standard = standard && shape->contiguous;
  return shape;
}

ShapePtr scalar_shape() {
  static Shape* shape = make_shape({}).take();
  return ShapePtr::borrow(shape);
}

bool same_sizes(const Shape* a, const Shape* b) {
  return a == b || (a->ndim == b->ndim && std::equal(a->sizes(), a->sizes() + a->ndim, b->sizes()));
}

std::string to_string(Sizes sizes) {
  std::string text = "[";
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (i) text += ", ";
    text += std::to_string(sizes[i]);
  }
  return text + "]";
}

bool is_dense(const Shape* shape) {
  if (shape->contiguous) return true;
  int order[kMaxDims];
  int count = 0;
  for (int i = 0; i < shape->ndim; ++i)
    if (shape->sizes()[i] != 1) order[count++] = i;
  const int64_t* strides = shape->strides();
  std::stable_sort(order, order + count, [&](int a, int b) { return strides[a] < strides[b]; });
  int64_t expected = 1;
  for (int i = 0; i < count; ++i) {
    if (strides[order[i]] != expected) return false;
    expected *= shape->sizes()[order[i]];
  }
  return true;
}

void dense_strides_like(Sizes sizes, std::span<const int64_t* const> like, int64_t* strides) {
  int order[kMaxDims];
  int ndim = static_cast<int>(sizes.size());
  for (int i = 0; i < ndim; ++i) order[i] = ndim - 1 - i;  // innermost first
  // -1: dimension `inner` lies inside `outer` in memory; 1: outside. A broadcast dimension (stride 0) says nothing
  // about the order, nor do equal strides unless the sizes tell which dimension is the longer.
  auto compare = [&](int inner, int outer) {
    for (const int64_t* its : like) {
      if (its[inner] == 0 || its[outer] == 0) continue;
      if (its[inner] != its[outer]) return its[inner] < its[outer] ? -1 : 1;
      if (sizes[inner] > sizes[outer]) return 1;
    }
    return 0;
  };
  for (int i = 1; i < ndim; ++i) {
    int at = i;
    for (int j = i - 1; j >= 0; --j) {
      int place = compare(order[j], order[at]);
      if (place < 0) break;
      if (place == 0) continue;
      std::swap(order[j], order[at]);
      at = j;
    }
  }
  int64_t stride = 1;
  for (int i = 0; i < ndim; ++i) {
    strides[order[i]] = stride;
    stride = outer_stride(sizes[order[i]], stride);
  }
}

ShapePtr dense_shape(Shape* shape) {
  if (is_dense(shape)) return ShapePtr::borrow(shape);
  int64_t strides[kMaxDims];
  dense_strides_like(shape->size_span(), shape->stride_span(), strides);
  return make_shape(shape->size_span(), {strides, shape->ndim});
}

int broadcast_sizes(Sizes a, Sizes b, int64_t* out) {
  int na = static_cast<int>(a.size()), nb = static_cast<int>(b.size());
  int n = std::max(na, nb);
  for (int i = n - 1; i >= 0; --i) {
    int64_t x = i - (n - na) >= 0 ? a[i - (n - na)] : 1;
    int64_t y = i - (n - nb) >= 0 ? b[i - (n - nb)] : 1;
    if (x != y && x != 1 && y != 1)
      fail("The size of tensor a (", x, ") must match the size of tensor b (", y, ") at non-singleton dimension ", i,
           "; got shapes ", to_string(a), " and ", to_string(b));
    out[i] = x == 1 ? y : x;
  }
  return n;
}

void broadcast_strides(const Shape* shape, Sizes sizes, int64_t* strides) {
  int n = static_cast<int>(sizes.size());
  int lead = n - shape->ndim;
  for (int i = 0; i < n; ++i) {
    int j = i - lead;
    strides[i] = (j < 0 || (shape->sizes()[j] == 1 && sizes[i] != 1)) ? 0 : shape->strides()[j];
  }
}

int wrap_dim(int64_t dim, int ndim) {
  int64_t range = std::max(ndim, 1);
  if (dim < -range || dim >= range)
    fail(ErrorKind::Index, "Dimension out of range (expected to be in range of [", -range, ", ", range - 1,
         "], but got ", dim, "); dimensions are counted from 0 at the front, and from -1 at the end");
  return static_cast<int>(dim < 0 ? dim + range : dim);
}

}  // namespace adjoint
