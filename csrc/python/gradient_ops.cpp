// The recorded arithmetic that the tape needs, through the op table. Declared in tape/history.h.
#include "python/op_object.h"
#include "python/types.h"
#include "tape/history.h"
#include "core/mode.h"

namespace adjoint {

using python::call_op;
using python::make_tuple;
using python::Op;
using python::require_op;

namespace {

/// Ops that the engine calls often are looked up once.
template <class Tag>
Op& cached_op(const char* name, Tag) {
  static Op& op = require_op(name);
  return op;
}

TensorPtr as_result(Object object) { return TensorPtr::steal(as_tensor(object.take())); }

void call_in_place(Op& op, std::initializer_list<PyObject*> args) {
  PyObject* slots[python::kMaxArguments];
  std::copy(args.begin(), args.end(), slots);
  for (size_t i = args.size(); i < op.arguments.size(); ++i) slots[i] = op.arguments[i].default_value.get();
  op.call_in_place(slots);
}

}  // namespace

TensorPtr add_tensors(Tensor* a, Tensor* b) {
  return as_result(call_op(cached_op("add", [] {}), {as_object(a), as_object(b)}));
}

TensorPtr sum_to(Tensor* tensor, const Shape* shape) {
  if (same_sizes(tensor->shape, shape)) return TensorPtr::borrow(tensor);
  Object size = make_tuple(shape->size_span());
  return as_result(call_op(cached_op("sum_to", [] {}), {as_object(tensor), size.get()}));
}

TensorPtr cast_recorded(Tensor* tensor, DType dtype) {
  return as_result(call_op(cached_op("to_dtype", [] {}), {as_object(tensor), python::dtype_object(dtype)}));
}

TensorPtr clone_recorded(Tensor* tensor) { return as_result(call_op(cached_op("clone", [] {}), {as_object(tensor)})); }
TensorPtr contiguous_recorded(Tensor* tensor) { return as_result(call_op(cached_op("contiguous", [] {}), {as_object(tensor)})); }

void copy_recorded(Tensor* target, Tensor* source) {
  call_in_place(cached_op("copy", [] {}), {as_object(target), as_object(source)});
}
void zero_recorded(Tensor* target) {
  TensorPtr zero = scalar_tensor(0.0, target->dtype);
  copy_recorded(target, zero.get());
}

TensorPtr as_strided_recorded(Tensor* tensor, Sizes sizes, Sizes strides, int64_t offset) {
  Object size = make_tuple(sizes), stride = make_tuple(strides);
  Object start = python::checked(PyLong_FromLongLong(offset));
  return as_result(call_op(cached_op("as_strided_within", [] {}), {as_object(tensor), size.get(), stride.get(), start.get()}));
}

NodePtr as_strided_node(Tensor* base, const Tensor* view) {
  Object size = make_tuple(view->sizes()), stride = make_tuple(view->strides());
  Object start = python::checked(PyLong_FromLongLong((view->data - base->data) / itemsize(base->dtype)));
  PyObject* slots[] = {as_object(base), size.get(), stride.get(), start.get()};
  GradModeGuard recording(true);
  NodePtr node = cached_op("as_strided_within", [] {}).record(slots, 1, 1);
  set_output_meta(*node, 0, view);
  return node;
}

}  // namespace adjoint
