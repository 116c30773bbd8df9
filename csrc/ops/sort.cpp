#include "ops/sort.h"

#include <algorithm>
#include <limits>

#include "core/lock.h"
#include "kernels/backend.h"
#include "ops/index_shapes.h"
#include "ops/memory.h"

namespace adjoint::ops {
namespace {

/// A tensor with dimension `axis` put back with size 1 where it is missing.
class Restored {
 public:
  Restored(const Tensor* tensor, int ndim, int axis) : view_(tensor->view()) {
    if (tensor->ndim() == ndim) return;
    if (tensor->ndim() != ndim - 1) fail("put_back: expected ", ndim, " dimensions, or one less; got ", tensor->ndim());
    for (int d = 0, from = 0; d < ndim; ++d) {
      sizes_[d] = d == axis ? 1 : tensor->size(from);
      strides_[d] = d == axis ? 0 : tensor->stride(from);
      from += d != axis;
    }
    view_ = tensor->view(ndim, sizes_, strides_);
  }
  Restored(const Restored&) = delete;
  const View& operator*() const { return view_; }
  const View* operator->() const { return &view_; }

 private:
  View view_;
  int64_t sizes_[kMaxDims];
  int64_t strides_[kMaxDims];
};

void check_countable(const char* torch_name, const Tensor* input, bool bool_too) {
  if (is_complex(input->dtype) || (input->dtype == DType::Bool && !bool_too))
    fail(ErrorKind::NotImplemented, "\"", torch_name, "\" not implemented for '", info(input->dtype).legacy_name,
         "'; convert the input to a type with an order");
}

/// Runs kernel(in, values, indices, axis), which chooses one element of each slice along `dim`.
template <class Kernel>
std::pair<TensorPtr, TensorPtr> choose_one(const char* op, Tensor* input, int64_t dim, bool keepdim, Kernel kernel) {
  int axis = wrap_dim(dim, input->ndim()), ndim = input->ndim();
  if (ndim > 0 && input->size(axis) == 0)
    fail(ErrorKind::Index, op, "(): Expected reduction dim ", axis,
         " to have non-zero size; of no elements none can be chosen");
  int64_t kept[kMaxDims], rest[kMaxDims];
  int n = 0;
  for (int d = 0; d < ndim; ++d) {
    kept[d] = d == axis ? 1 : input->size(d);
    if (d != axis) rest[n++] = input->size(d);
  }
  ShapePtr shape = make_shape({kept, static_cast<size_t>(ndim)});
  ShapePtr shown = keepdim ? shape : make_shape({rest, static_cast<size_t>(n)});
  TensorPtr values = empty(shown, input->dtype, input->device), indices = empty(shown, DType::Int64, input->device);
  View value_view = values->view(ndim, shape->sizes(), shape->strides());
  View index_view = indices->view(ndim, shape->sizes(), shape->strides());
  WithoutLock unlocked(input->numel());
  kernel(input->view(), value_view, index_view, axis);
  return {std::move(values), std::move(indices)};
}

std::pair<TensorPtr, TensorPtr> middle_along(const char* op, Tensor* input, int64_t dim, bool keepdim,
                                             bool ignore_nan) {
  check_countable("median_out", input, false);
  return choose_one(op, input, dim, keepdim, [=](const View& in, const View& values, const View& indices, int axis) {
    on(in.device).sort.median(in, values, indices, axis, ignore_nan);
  });
}

TensorPtr middle_of_all(Tensor* input, bool ignore_nan) {
  check_countable("median_cpu", input, false);
  TensorPtr result = empty(scalar_shape(), input->dtype, input->device);
  if (input->numel() == 0) {
    fill(result.get(), Scalar::of(std::numeric_limits<double>::quiet_NaN()));
    return result;
  }
  TensorPtr packed = contiguous(input), index = empty(scalar_shape(), DType::Int64, input->device);
  const int64_t sizes[2] = {packed->numel(), 1}, stride = 1;
  WithoutLock unlocked(packed->numel());
  on(input->device)
      .sort.median(packed->view(1, sizes, &stride), result->view(1, sizes + 1, &stride),
                   index->view(1, sizes + 1, &stride), 0, ignore_nan);
  return result;
}

}  // namespace

std::pair<TensorPtr, TensorPtr> sort(Tensor* input, int64_t dim, bool descending, std::optional<bool>) {
  int axis = wrap_dim(dim, input->ndim());
  if (is_complex(input->dtype)) fail(" Sort does not support complex dtypes on CPU; sort .abs() or .real instead");
  ShapePtr shape = dense_shape(input->shape);  // the order of the input's memory is kept
  TensorPtr values = empty(shape, input->dtype, input->device), indices = empty(shape, DType::Int64, input->device);
  WithoutLock unlocked(input->numel());
  on(input->device).sort.sort(input->view(), values->view(), indices->view(), axis, descending);
  return {std::move(values), std::move(indices)};
}

TensorPtr argsort(Tensor* input, int64_t dim, bool descending, bool stable) {
  return sort(input, dim, descending, stable).second;
}

std::pair<TensorPtr, TensorPtr> topk(Tensor* input, int64_t k, int64_t dim, bool largest, bool) {
  int axis = wrap_dim(dim, input->ndim());
  if (is_complex(input->dtype)) fail(" topk does not support complex dtypes on CPU; use .abs() or .real");
  if (input->dtype == DType::Bool) fail("topk does not support bool dtypes on CPU; convert with .int()");
  int64_t available = input->ndim() == 0 ? 1 : input->size(axis);
  if (k < 0 || k > available)
    fail("selected index k out of range; got k = ", k, " for a dimension of size ", available);
  int64_t sizes[kMaxDims];
  std::copy(input->sizes().begin(), input->sizes().end(), sizes);
  if (input->ndim() > 0) sizes[axis] = k;
  ShapePtr shape = make_shape({sizes, static_cast<size_t>(input->ndim())});
  TensorPtr values = empty(shape, input->dtype, input->device), indices = empty(shape, DType::Int64, input->device);
  WithoutLock unlocked(input->numel());
  on(input->device).sort.topk(input->view(), values->view(), indices->view(), k, axis, largest);
  return {std::move(values), std::move(indices)};
}

std::pair<TensorPtr, TensorPtr> kthvalue(Tensor* input, int64_t k, int64_t dim, bool keepdim) {
  check_countable("kthvalue_cpu", input, false);
  return choose_one("kthvalue", input, dim, keepdim,
                    [k](const View& in, const View& values, const View& indices, int axis) {
                      on(in.device).sort.kthvalue(in, values, indices, k, axis);
                    });
}

std::pair<TensorPtr, TensorPtr> median(Tensor* input, int64_t dim, bool keepdim) {
  return middle_along("median", input, dim, keepdim, false);
}
std::pair<TensorPtr, TensorPtr> nanmedian(Tensor* input, int64_t dim, bool keepdim) {
  return middle_along("nanmedian", input, dim, keepdim, true);
}
TensorPtr median_all(Tensor* input) { return middle_of_all(input, false); }
TensorPtr nanmedian_all(Tensor* input) { return middle_of_all(input, true); }

std::pair<TensorPtr, TensorPtr> mode(Tensor* input, int64_t dim, bool keepdim) {
  check_countable("mode_cpu", input, true);
  return choose_one("mode", input, dim, keepdim, on(input->device).sort.mode);
}

static void check_places(const char* op, const Tensor* indices) {
  if (indices->dtype != DType::Int64) fail(op, ": expected int64 indices; got ", info(indices->dtype).name);
}

TensorPtr put_back(Tensor* input, Tensor* indices, const Ints& size, int64_t dim) {
  check_places("put_back", indices);
  int ndim = static_cast<int>(size.size());
  int axis = wrap_dim(dim, ndim);
  Restored values(input, ndim, axis), places(indices, ndim, axis);
  const Sizes from(values->sizes, size.size());
  check_scatter("put_back", size, axis, {places->sizes, size.size()}, &from);
  TensorPtr result = zeros(size, input->dtype, input->device);
  WithoutLock unlocked(input->numel());
  on(input->device).indexing.scatter_add(result->view(), axis, *places, *values);
  return result;
}

TensorPtr pick(Tensor* input, Tensor* indices, int64_t dim) {
  check_places("pick", indices);
  int axis = wrap_dim(dim, input->ndim());
  Restored places(indices, input->ndim(), axis);
  check_gather(input->sizes(), axis, {places->sizes, input->sizes().size()});
  TensorPtr result = empty(indices->sizes(), input->dtype, input->device);
  Restored out(result.get(), input->ndim(), axis);
  WithoutLock unlocked(indices->numel());
  on(input->device).indexing.gather(input->view(), axis, *places, *out);
  return result;
}

}  // namespace adjoint::ops
