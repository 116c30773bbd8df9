#include "ops/sorting.h"

#include <algorithm>
#include <cstring>

#include "core/lock.h"
#include "kernels/indexing.h"
#include "kernels/sort.h"

namespace adjoint::ops {
namespace {

using python::Ints;

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
    view_ = {tensor->data, tensor->dtype, ndim, sizes_, strides_};
  }
  Restored(const Restored&) = delete;
  const View& operator*() const { return view_; }

 private:
  View view_;
  int64_t sizes_[kMaxDims];
  int64_t strides_[kMaxDims];
};

}  // namespace

std::pair<TensorPtr, TensorPtr> sort(Tensor* input, int64_t dim, bool descending, bool stable) {
  int axis = wrap_dim(dim, input->ndim());
  if (is_complex(input->dtype)) fail(" Sort does not support complex dtypes on CPU; sort .abs() or .real instead");
  ShapePtr shape = make_shape(input->sizes());
  TensorPtr values = empty(shape, input->dtype), indices = empty(shape, DType::Int64);
  WithoutLock unlocked(input->numel());
  kernels::sort(input->view(), values->view(), indices->view(), axis, descending, stable);
  return {std::move(values), std::move(indices)};
}

TensorPtr argsort(Tensor* input, int64_t dim, bool descending, bool stable) {
  return sort(input, dim, descending, stable).second;
}

std::pair<TensorPtr, TensorPtr> topk(Tensor* input, int64_t k, int64_t dim, bool largest, bool sorted) {
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
  TensorPtr values = empty(shape, input->dtype), indices = empty(shape, DType::Int64);
  WithoutLock unlocked(input->numel());
  kernels::topk(input->view(), values->view(), indices->view(), k, axis, largest, sorted);
  return {std::move(values), std::move(indices)};
}

TensorPtr put_back(Tensor* input, Tensor* indices, const Ints& size, int64_t dim) {
  int ndim = static_cast<int>(size.size());
  int axis = wrap_dim(dim, ndim);
  Restored values(input, ndim, axis), places(indices, ndim, axis);
  TensorPtr result = empty(size, input->dtype);
  std::memset(result->data, 0, static_cast<size_t>(result->numel() * itemsize(result->dtype)));
  WithoutLock unlocked(input->numel());
  kernels::scatter_add(result->view(), axis, *places, *values);
  return result;
}

TensorPtr pick(Tensor* input, Tensor* indices, int64_t dim) {
  int axis = wrap_dim(dim, input->ndim());
  Restored places(indices, input->ndim(), axis);
  TensorPtr result = empty(indices->sizes(), input->dtype);
  Restored out(result.get(), input->ndim(), axis);
  WithoutLock unlocked(indices->numel());
  kernels::gather(input->view(), axis, *places, *out);
  return result;
}

}  // namespace adjoint::ops
