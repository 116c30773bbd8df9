#include "ops/views.h"

#include <algorithm>
#include <array>

#include "core/lock.h"
#include "core/mode.h"
#include "kernels/backend.h"
#include "ops/advice.h"
#include "ops/elementwise.h"
#include "ops/memory.h"

namespace adjoint::ops {
namespace {

/// Sizes and strides under construction.
struct Geometry {
  int ndim = 0;
  int64_t sizes[kMaxDims];
  int64_t strides[kMaxDims];

  Geometry() = default;
  explicit Geometry(const Tensor* tensor) : ndim(tensor->ndim()) {
    std::copy_n(tensor->shape->sizes(), ndim, sizes);
    std::copy_n(tensor->shape->strides(), ndim, strides);
  }
  void push(int64_t size, int64_t stride) {
    if (ndim == kMaxDims)
      fail("a tensor has at most ", kMaxDims, " dimensions; the view would have more; merge some of them");
    sizes[ndim] = size;
    strides[ndim++] = stride;
  }
  void erase(int dim) {
    std::copy(sizes + dim + 1, sizes + ndim, sizes + dim);
    std::copy(strides + dim + 1, strides + ndim, strides + dim);
    --ndim;
  }
  Sizes size_span() const { return {sizes, static_cast<size_t>(ndim)}; }
  ShapePtr shape() const { return make_shape(size_span(), {strides, static_cast<size_t>(ndim)}); }
};

/// Whether the strides are those of a new tensor, also where a size of 1 makes them of no account.
bool has_plain_strides(const Shape* shape) {
  int64_t step = 1;
  for (int d = shape->ndim - 1; d >= 0; --d) {
    if (shape->strides()[d] != step) return false;
    step *= shape->sizes()[d];
  }
  return true;
}

/// The shape that shows the elements of `old` in the same order with other sizes, or null when strides cannot say it.
/// Each stretch of old dimensions that lie as one block in memory must be cut up exactly by a stretch of new ones.
ShapePtr regrouped(const Shape* old, Sizes sizes) {
  if (old->contiguous && (old->numel == 0 || has_plain_strides(old))) {
    if (old->numel == 0 && sizes.size() == old->ndim && std::equal(sizes.begin(), sizes.end(), old->sizes()))
      return make_shape(sizes, old->stride_span());
    return make_shape(sizes);
  }
  const int64_t *lengths = old->sizes(), *steps = old->strides();
  int64_t strides[kMaxDims];
  int d = old->ndim - 1;
  int next = static_cast<int>(sizes.size()) - 1;
  while (d >= 0) {
    int64_t inner = steps[d];
    int64_t block = lengths[d--];
    while (d >= 0 && (lengths[d] == 1 || steps[d] == block * inner)) block *= lengths[d--];
    int64_t filled = 1;
    for (; next >= 0 && (filled < block || sizes[next] == 1); --next) {
      strides[next] = filled * inner;
      filled *= sizes[next];
    }
    if (filled != block) return {};
  }
  return make_shape(sizes, {strides, sizes.size()});
}

int checked_dim(const Tensor* input, int64_t dim, const char* op) {
  if (input->ndim() == 0) fail(ErrorKind::Index, op, "() cannot be applied to a 0-dim tensor.");
  return wrap_dim(dim, input->ndim());
}

/// Zeros with `g` written into the part that `part_of` shows.
template <class F>
TensorPtr written_zeros(const Tensor* g, Sizes sizes, F&& part_of) {
  TensorPtr result = zeros(sizes, g->dtype, g->device);
  TensorPtr part = part_of(result.get());
  if (!same_sizes(part->shape, g->shape))
    fail("backward of a view: expected a gradient of shape ", to_string(part->sizes()), "; got ",
         to_string(g->sizes()));
  copy_into(g, part.get());
  return result;
}

/// True unless every element of the geometry surely has its own place.
bool may_overlap(Sizes sizes, Sizes strides) {
  std::array<std::pair<int64_t, int64_t>, kMaxDims> dims;
  size_t n = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return false;
    if (sizes[i] > 1) dims[n++] = {strides[i], sizes[i]};
  }
  std::sort(dims.begin(), dims.begin() + n);
  int64_t reach = 0;
  for (size_t i = 0; i < n; ++i) {
    if (dims[i].first <= reach) return true;
    reach += dims[i].first * (dims[i].second - 1);
  }
  return false;
}

}  // namespace

View expanded_view(const Tensor* tensor, Sizes sizes, int64_t* strides) {
  int lead = static_cast<int>(sizes.size()) - tensor->ndim();
  if (lead < 0)
    fail("expand(torch.", info(tensor->dtype).legacy_name, "Tensor{", to_string(tensor->sizes()),
         "}, size=", to_string(sizes), "): the number of sizes provided (", sizes.size(),
         ") must be greater or equal to the number of dimensions in the tensor (", tensor->ndim(), ")");
  for (int d = 0; d < tensor->ndim(); ++d) {
    if (tensor->size(d) != sizes[d + lead] && (tensor->size(d) != 1 || sizes[d + lead] < 0))
      fail("The expanded size of the tensor (", sizes[d + lead], ") must match the existing size (", tensor->size(d),
           ") at non-singleton dimension ", d + lead, ".  Target sizes: ", to_string(sizes),
           ".  Tensor sizes: ", to_string(tensor->sizes()),
           ".  Only dimensions of size 1 can be expanded; repeat() copies others");
  }
  broadcast_strides(tensor->shape, sizes, strides);
  return tensor->view(static_cast<int>(sizes.size()), sizes.data(), strides);
}

// ---- Geometry

Ints inferred_sizes(Sizes wanted, int64_t numel) {
  int64_t known = 1;
  int unknown = -1;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == -1) {
      if (unknown >= 0) fail("only one dimension can be inferred; got -1 twice in ", to_string(wanted));
      unknown = static_cast<int>(i);
    } else if (wanted[i] < 0) {
      fail("invalid shape dimension ", wanted[i], " at index ", i, " of shape ", to_string(wanted));
    } else if (__builtin_mul_overflow(known, wanted[i], &known)) {
      fail("shape '", to_string(wanted), "' is invalid for input of size ", numel, "; it has more elements than fit");
    }
  }
  if (unknown >= 0 && numel == 0 && known == 0)
    fail("cannot reshape tensor of 0 elements into shape ", to_string(wanted),
         " because the unspecified dimension size -1 can be any value and is ambiguous");
  if (unknown < 0 ? known != numel : known == 0 || numel % known != 0)
    fail("shape '", to_string(wanted), "' is invalid for input of size ", numel,
         advice::fitting_sizes(known, unknown >= 0, numel));
  Ints sizes;
  for (size_t i = 0; i < wanted.size(); ++i)
    sizes.push(static_cast<int>(i) == unknown ? numel / known : wanted[i], "view");
  return sizes;
}

TensorPtr view_sizes(Tensor* input, Ints size) {
  Ints sizes = inferred_sizes(size, input->numel());
  ShapePtr shape = regrouped(input->shape, sizes);
  if (!shape)
    fail(
        "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
        "contiguous "
        "subspaces). Use .reshape(...) instead. (The input has sizes ",
        to_string(input->sizes()), " and strides ", to_string(input->strides()), ", the view ", to_string(sizes), ".)");
  return alias(input, std::move(shape));
}

bool fits_view(const Tensor* input, Sizes sizes) { return static_cast<bool>(regrouped(input->shape, sizes)); }

TensorPtr transpose(Tensor* input, int64_t dim0, int64_t dim1) {
  int a = wrap_dim(dim0, input->ndim()), b = wrap_dim(dim1, input->ndim());
  if (a == b) return alias(input);
  Geometry geometry(input);
  std::swap(geometry.sizes[a], geometry.sizes[b]);
  std::swap(geometry.strides[a], geometry.strides[b]);
  return alias(input, geometry.shape());
}

TensorPtr t(Tensor* input) {
  if (input->ndim() > 2)
    fail("t() expects a tensor with <= 2 dimensions, but self is ", input->ndim(), "D; use mT or transpose()");
  return transpose(input, 0, input->ndim() < 2 ? 0 : 1);
}

TensorPtr permute(Tensor* input, Ints dims) {
  if (static_cast<int>(dims.size()) != input->ndim())
    fail(
        "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
        "ordering of "
        "dimensions i.e. "
        "input.dim() = ",
        input->ndim(), " is not equal to len(dims) = ", dims.size());
  Geometry geometry;
  uint64_t seen = 0;
  for (int64_t dim : dims) {
    int d = wrap_dim(dim, input->ndim());
    if (seen >> d & 1) fail("permute(): duplicate dims are not allowed; dim ", d, " came twice in ", to_string(dims));
    seen |= uint64_t{1} << d;
    geometry.push(input->size(d), input->stride(d));
  }
  return alias(input, geometry.shape());
}

TensorPtr expand(Tensor* input, Ints size) {
  int lead = static_cast<int>(size.size()) - input->ndim();
  Ints sizes;
  for (int d = 0; d < static_cast<int>(size.size()); ++d) {
    if (size[d] == -1 && d < lead)
      fail("The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension ", d,
           "; name its size");
    sizes.push(size[d] == -1 && lead >= 0 ? input->size(d - lead) : size[d], "expand");
  }
  int64_t strides[kMaxDims];
  expanded_view(input, sizes, strides);
  // New dimensions of one element are stepped over as a whole, as in torch.
  for (int d = lead - 1; d >= 0; --d)
    if (sizes[d] == 1 && d + 1 < static_cast<int>(sizes.size())) strides[d] = sizes[d + 1] * strides[d + 1];
  return alias(input, make_shape(sizes, {strides, sizes.size()}));
}

TensorPtr select(Tensor* input, int64_t dim, int64_t index) {
  int d = checked_dim(input, dim, "select");
  int64_t size = input->size(d);
  if (index < -size || index >= size)
    fail(ErrorKind::Index, "select(): index ", index, " out of range for tensor of size ", to_string(input->sizes()),
         " at dimension ", d);
  Geometry geometry(input);
  int64_t offset = (index < 0 ? index + size : index) * input->stride(d);
  geometry.erase(d);
  return alias(input, geometry.shape(), offset);
}

TensorPtr slice(Tensor* input, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
  int d = checked_dim(input, dim, "slice");
  if (step <= 0) fail("slice step must be positive; got ", step, "; use flip() to reverse a dimension");
  int64_t size = input->size(d);
  auto clipped = [size](int64_t place) { return std::clamp<int64_t>(place < 0 ? place + size : place, 0, size); };
  int64_t first = clipped(start.value_or(0));
  int64_t last = std::max(first, clipped(end.value_or(size)));
  Geometry geometry(input);
  geometry.sizes[d] = (last - first) / step + ((last - first) % step != 0);
  // The stride of a dimension with one element is never used to reach memory: an overflowing one need not be kept.
  if (__builtin_mul_overflow(geometry.strides[d], step, &geometry.strides[d])) geometry.strides[d] = input->stride(d);
  return alias(input, geometry.shape(), first * input->stride(d));
}

TensorPtr squeeze_dims(Tensor* input, std::optional<Ints> dim) {
  uint64_t among = dim ? 0 : ~uint64_t{0};
  if (dim) {
    for (int64_t entry : *dim) {
      int d = wrap_dim(entry, input->ndim());
      if (among >> d & 1) fail("dim ", d, " appears multiple times in the list of dims");
      among |= uint64_t{1} << d;
    }
  }
  Geometry geometry;
  for (int d = 0; d < input->ndim(); ++d)
    if (input->size(d) != 1 || !(among >> d & 1)) geometry.push(input->size(d), input->stride(d));
  return alias(input, geometry.shape());
}

TensorPtr unsqueeze(Tensor* input, int64_t dim) {
  int at = wrap_dim(dim, input->ndim() + 1);
  Geometry geometry;
  for (int d = 0; d <= input->ndim(); ++d) {
    if (d == at) geometry.push(1, d < input->ndim() ? input->size(d) * input->stride(d) : 1);
    if (d < input->ndim()) geometry.push(input->size(d), input->stride(d));
  }
  return alias(input, geometry.shape());
}

TensorPtr diagonal(Tensor* input, int64_t offset, int64_t dim1, int64_t dim2) {
  int a = wrap_dim(dim1, input->ndim()), b = wrap_dim(dim2, input->ndim());
  if (a == b) fail("diagonal dimensions cannot be identical ", dim1, ", ", dim2);
  int64_t rows = input->size(a), columns = input->size(b);
  int64_t above = std::clamp<int64_t>(offset, 0, columns), below = std::clamp<int64_t>(offset, -rows, 0);
  int64_t length = std::max<int64_t>(0, std::min(rows + below, columns - above));
  Geometry geometry(input);
  int64_t stride = input->stride(a) + input->stride(b);
  geometry.erase(std::max(a, b));
  geometry.erase(std::min(a, b));
  geometry.push(length, stride);
  int64_t start = length == 0 ? 0 : above * input->stride(b) - below * input->stride(a);
  return alias(input, geometry.shape(), start);
}

TensorPtr unfold(Tensor* input, int64_t dimension, int64_t size, int64_t step) {
  int d = wrap_dim(dimension, input->ndim());
  int64_t length = input->ndim() ? input->size(d) : 1;
  if (size < 0) fail("size is ", size, " but must be >= 0");
  if (size > length) fail("maximum size for tensor at dimension ", d, " is ", length, " but size is ", size);
  if (step <= 0) fail("step is ", step, " but must be > 0");
  Geometry geometry(input);
  int64_t stride = input->ndim() ? input->stride(d) : 1;
  if (input->ndim()) {
    geometry.sizes[d] = (length - size) / step + 1;
    if (__builtin_mul_overflow(stride, step, &geometry.strides[d])) geometry.strides[d] = stride;
  }
  geometry.push(size, stride);
  return alias(input, geometry.shape());
}

TensorPtr as_strided(Tensor* input, Ints size, Ints stride, std::optional<int64_t> storage_offset) {
  if (size.size() != stride.size())
    fail("mismatch in length of strides and shape; got ", to_string(stride), " for ", to_string(size));
  for (int64_t step : stride)
    if (step < 0)
      fail("as_strided: Negative strides are not supported at the moment, got strides: ", to_string(stride),
           "; use flip()");
  int64_t offset = storage_offset.value_or(input->offset());
  if (offset < 0) fail("Tensor: invalid storage offset ", offset);
  int64_t numel = checked_numel(size);
  int64_t room = static_cast<int64_t>(input->storage->nbytes) / itemsize(input->dtype);
  int64_t last = offset;
  bool inside = true;
  for (size_t d = 0; d < size.size() && numel > 0; ++d) {
    int64_t reach;
    inside &= !__builtin_mul_overflow(size[d] - 1, stride[d], &reach) && !__builtin_add_overflow(last, reach, &last);
  }
  if (numel > 0 && (!inside || last >= room))
    fail("setStorage: sizes ", to_string(size), ", strides ", to_string(stride), ", storage offset ", offset,
         ", and itemsize ", itemsize(input->dtype),
         " requiring a storage size that is out of bounds for storage of size ", input->storage->nbytes);
  return alias(input, make_shape(size, stride), numel > 0 ? offset - input->offset() : 0);
}

TensorPtr as_strided_within(Tensor* input, Ints size, Ints stride, int64_t offset) {
  return as_strided(input, size, stride, input->offset() + offset);
}

TensorPtr view_as_real(Tensor* input) {
  if (!is_complex(input->dtype))
    fail("view_as_real is only supported for complex tensors; got ", info(input->dtype).name);
  Geometry geometry(input);
  for (int d = 0; d < geometry.ndim; ++d) geometry.strides[d] *= 2;
  geometry.push(2, 1);
  TensorPtr result = alias(input, geometry.shape());
  result->dtype = real_type(input->dtype);
  return result;
}

TensorPtr detached(Tensor* input) {
  TensorPtr result = alias(input);
  if ((result->flags & kInferenceTensor) && !(mode_flags & kInferenceMode)) detach_version(result.get());
  return result;
}

TensorPtr view_as_complex(Tensor* input) {
  if (input->dtype != DType::Float16 && input->dtype != DType::Float32 && input->dtype != DType::Float64)
    fail("view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: ",
         info(input->dtype).legacy_name);
  int last = input->ndim() - 1;
  if (last < 0) fail("Input tensor must have one or more dimensions");
  if (input->size(last) != 2) fail("Tensor must have a last dimension of size 2; got ", to_string(input->sizes()));
  if (input->stride(last) != 1)
    fail("Tensor must have a last dimension with stride 1; got ", input->stride(last), "; call contiguous()");
  Geometry geometry(input);
  geometry.erase(last);
  for (int d = 0; d < last; ++d) {
    if (geometry.strides[d] % 2 && geometry.sizes[d] != 1)
      fail("Tensor must have a stride divisible by 2 for all but last dimension; call contiguous()");
    geometry.strides[d] /= 2;
  }
  if (input->offset() % 2) fail("Tensor must have a storage_offset divisible by 2; call clone()");
  TensorPtr result = alias(input, geometry.shape());
  result->dtype = complex_type(input->dtype);
  return result;
}

TensorPtr view_dtype(Tensor* input, DType dtype) {
  int64_t from = itemsize(input->dtype), to = itemsize(dtype);
  Geometry geometry(input);
  int last = geometry.ndim - 1;
  if (from != to) {
    auto refuse = [&](const auto&... parts) {
      fail(parts..., " to view ", info(input->dtype).legacy_name, " as ", info(dtype).legacy_name,
           " (different element sizes)");
    };
    if (last < 0) refuse("self.dim() cannot be 0");
    if (to > from && geometry.sizes[last] % (to / from))
      fail("self.size(-1) must be divisible by ", to / from, " to view ", info(input->dtype).legacy_name, " as ",
           info(dtype).legacy_name, " (different element sizes), but got ", geometry.sizes[last]);
    if (geometry.strides[last] != 1)
      fail("self.stride(-1) must be 1 to view ", info(input->dtype).legacy_name, " as ", info(dtype).legacy_name,
           " (different element sizes), but got ", geometry.strides[last]);
    if (input->offset() * from % to) refuse("self.storage_offset() must be divisible by ", to / from);
    if (input->device == DeviceType::Cpu) check_alignment(input->storage, dtype);
    geometry.sizes[last] = geometry.sizes[last] * from / to;
    for (int d = 0; d < last; ++d) {
      if (to > from && geometry.strides[d] % (to / from))
        refuse("self.stride(", d, ") must be divisible by ", to / from);
      geometry.strides[d] = geometry.strides[d] * from / to;
    }
  }
  TensorPtr result = alias(input, geometry.shape());
  result->dtype = dtype;
  return result;
}

// ---- Backward

TensorPtr select_backward(Tensor* input, Ints size, int64_t dim, int64_t index) {
  return written_zeros(input, size, [&](Tensor* whole) { return select(whole, dim, index); });
}

TensorPtr slice_backward(Tensor* input, Ints size, int64_t dim, std::optional<int64_t> start,
                         std::optional<int64_t> end, int64_t step) {
  return written_zeros(input, size, [&](Tensor* whole) { return slice(whole, dim, start, end, step); });
}

TensorPtr diagonal_backward(Tensor* input, Ints size, int64_t offset, int64_t dim1, int64_t dim2) {
  return written_zeros(input, size, [&](Tensor* whole) { return diagonal(whole, offset, dim1, dim2); });
}

TensorPtr unfold_backward(Tensor* input, Ints size, int64_t dimension, int64_t window, int64_t step) {
  auto windows = [&](Tensor* whole) { return unfold(whole, dimension, window, step); };
  if (step >= window) return written_zeros(input, size, windows);
  // Windows overlap: the elements at one place of all windows do not, and are added together.
  TensorPtr result = zeros(size, input->dtype, input->device);
  TensorPtr whole = windows(result.get());
  if (!same_sizes(whole->shape, input->shape))
    fail("unfold_backward: expected a gradient of shape ", to_string(whole->sizes()), "; got ",
         to_string(input->sizes()));
  for (int64_t place = 0; place < window; ++place)
    add_in_place(select(whole.get(), -1, place).get(), select(input, -1, place).get());
  return result;
}

TensorPtr as_strided_backward(Tensor* input, int64_t extent, Ints size, Ints stride, int64_t offset) {
  const int64_t flat[] = {extent};
  if (!may_overlap(size, stride))
    return written_zeros(input, flat, [&](Tensor* whole) { return as_strided(whole, size, stride, offset); });
  TensorPtr places = empty(flat, DType::Int64, input->device);
  on(input->device).memory.enumerate(places->view());
  TensorPtr index = as_strided(places.get(), size, stride, offset);
  TensorPtr result = zeros(flat, input->dtype, input->device);
  const View index_view = index->view();
  const View* indices[] = {&index_view};
  on(input->device).indexing.index_put(result->view(), 1, indices, input->view(), true);
  return result;
}

}  // namespace adjoint::ops
