#include "op/recorded.h"

#include <algorithm>
#include <vector>

#include "core/mode.h"
#include "core/sparse.h"
#include "op/object.h"
#include "tape/history.h"
#include "types/types.h"

namespace adjoint {

namespace {

void call_in_place(Op& op, std::initializer_list<PyObject*> args) {
  PyObject* slots[kMaxArguments];
  std::copy(args.begin(), args.end(), slots);
  for (size_t i = args.size(); i < op.arguments.size(); ++i) slots[i] = op.arguments[i].default_value.get();
  op.call_in_place(slots);
}

}  // namespace

TensorPtr add_tensors(Tensor* a, Tensor* b) {
  if (is_sparse(a) && !is_sparse(b)) std::swap(a, b);  // sparse tensors are added to dense ones
  return as_result(call_op(cached_op("add", [] {}), {as_object(a), as_object(b)}));
}

TensorPtr sum_to(Tensor* tensor, const Shape* shape) {
  if (same_sizes(tensor->shape, shape)) return TensorPtr::borrow(tensor);
  Object size = make_tuple(shape->size_span());
  return as_result(call_op(cached_op("sum_to", [] {}), {as_object(tensor), size.get()}));
}

TensorPtr cast_recorded(Tensor* tensor, DType dtype) {
  return as_result(call_op(cached_op("to_dtype", [] {}), {as_object(tensor), dtype_object(dtype)}));
}

TensorPtr moved_recorded(Tensor* tensor, Device device) {
  TensorPtr result = empty(tensor->sizes(), tensor->dtype, device);
  copy_recorded(result.get(), tensor);
  return result;
}

TensorPtr clone_recorded(Tensor* tensor) {
  return as_result(call_op(cached_op("clone", [] {}), {as_object(tensor)}));
}
TensorPtr contiguous_recorded(Tensor* tensor) {
  return as_result(call_op(cached_op("contiguous", [] {}), {as_object(tensor)}));
}

TensorPtr zeros_recorded(Tensor* like, Sizes sizes) {
  Object size = make_tuple(sizes);
  return as_result(call_op(cached_op("new_zeros", [] {}), {as_object(like), size.get()}));
}

void copy_recorded(Tensor* target, Tensor* source) {
  call_in_place(cached_op("copy", [] {}), {as_object(target), as_object(source)});
}
void add_recorded(Tensor* target, Tensor* other) {
  call_in_place(cached_op("add", [] {}), {as_object(target), as_object(other)});
}
void zero_recorded(Tensor* target) {
  TensorPtr zero = scalar_tensor(0.0, target->dtype);
  copy_recorded(target, zero.get());
}

namespace {

bool same_geometry(const Shape* a, const Shape* b) {
  return same_sizes(a, b) && std::equal(a->strides(), a->strides() + a->ndim, b->strides());
}

TensorPtr as_strided_recorded(Tensor* tensor, Sizes sizes, Sizes strides, int64_t offset) {
  Object size = make_tuple(sizes), stride = make_tuple(strides);
  Object start = checked(PyLong_FromLongLong(offset));
  return as_result(
      call_op(cached_op("as_strided_within", [] {}), {as_object(tensor), size.get(), stride.get(), start.get()}));
}

TensorPtr part_of(Tensor* whole, const Shape* shape, int64_t offset) {
  if (offset == 0 && same_geometry(whole->shape, shape)) return TensorPtr::borrow(whole);
  return as_strided_recorded(whole, shape->size_span(), shape->stride_span(), offset);
}

TensorPtr as_complex(Tensor* pairs) {
  return as_result(call_op(cached_op("view_as_complex", [] {}), {as_object(pairs)}));
}

}  // namespace

TensorPtr view_recorded(Tensor* base, DType dtype, const Shape* shape, int64_t offset) {
  if (dtype == base->dtype) return as_strided_recorded(base, shape->size_span(), shape->stride_span(), offset);
  if (is_complex(base->dtype) && dtype == real_type(base->dtype)) {
    TensorPtr pairs = as_result(call_op(cached_op("view_as_real", [] {}), {as_object(base)}));
    return part_of(pairs.get(), shape, offset);
  }
  if (!is_complex(dtype) || base->dtype != real_type(dtype))
    fail("an in-place change of a view with another dtype than its base cannot be recorded; got ", info(dtype).name,
         " on ", info(base->dtype).name, "; use the out-of-place form");
  int last = base->ndim() - 1;
  if (last >= 0 && base->size(last) == 2 && base->stride(last) == 1)
    return part_of(as_complex(base).get(), shape, offset);
  std::vector<int64_t> sizes(shape->sizes(), shape->sizes() + shape->ndim), strides;
  for (int d = 0; d < shape->ndim; ++d) strides.push_back(2 * shape->strides()[d]);
  sizes.push_back(2);
  strides.push_back(1);
  return as_complex(as_strided_recorded(base, sizes, strides, 2 * offset).get());
}

NodePtr view_node(Tensor* base, const Tensor* view) {
  int64_t offset = offset_in_base(view);
  RecordingGuard recording;
  if (base->dtype != view->dtype) {
    TensorPtr fresh = view_recorded(base, view->dtype, view->shape, offset);
    return NodePtr::borrow(fresh->grad_fn);
  }
  Object size = make_tuple(view->sizes()), stride = make_tuple(view->strides());
  Object start = checked(PyLong_FromLongLong(offset));
  PyObject* slots[] = {as_object(base), size.get(), stride.get(), start.get()};
  NodePtr node = cached_op("as_strided_within", [] {}).record(slots, 1, 1);
  set_output_meta(*node, 0, view);
  return node;
}

TensorPtr spread_recorded(Tensor* tensor, const Shape* layout) {
  int64_t extent = 1;
  for (int d = 0; d < layout->ndim; ++d) extent += std::max<int64_t>(0, layout->sizes()[d] - 1) * layout->strides()[d];
  Object length = checked(PyLong_FromLongLong(extent)), start = checked(PyLong_FromLong(0));
  Object size = make_tuple(layout->size_span()), stride = make_tuple(layout->stride_span());
  Object memory = call_op(cached_op("as_strided_backward", [] {}),
                          {as_object(tensor), length.get(), size.get(), stride.get(), start.get()});
  return as_strided_recorded(as_tensor(memory.get()), layout->size_span(), layout->stride_span(), 0);
}

}  // namespace adjoint
