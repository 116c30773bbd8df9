#include "transforms/forward.h"

#include <algorithm>

#include "core/batched.h"
#include "core/mode.h"
#include "core/sparse.h"
#include "op/object.h"
#include "op/recorded.h"
#include "op/transform_rules.h"
#include "tape/history.h"
#include "types/types.h"

namespace adjoint {
namespace {

thread_local bool enabled = true;

Object zeros_like(PyObject* object) {
  if (is_tensor(object)) return call_op(cached_op("zeros_like", [] {}), {object});
  if (is_sequence(object)) {
    Object zeros = checked(PyTuple_New(PySequence_Fast_GET_SIZE(object)));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(zeros.get()); ++i)
      PyTuple_SET_ITEM(zeros.get(), i, zeros_like(PySequence_Fast_GET_ITEM(object, i)).take());
    return zeros;
  }
  return object == Py_None ? Object::borrow(object) : checked(PyLong_FromLong(0));
}

/// A tangent, or a tuple of tangents and None, with zeros where there are none.
Object filled(PyObject* tangent, PyObject* argument) {
  if (!tangent) return zeros_like(argument);
  if (is_tensor(tangent)) return Object::borrow(tangent);
  Object all = checked(PyTuple_New(PyTuple_GET_SIZE(tangent)));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tangent); ++i) {
    PyObject* item = PyTuple_GET_ITEM(tangent, i);
    Object value = item == Py_None ? zeros_like(PySequence_Fast_GET_ITEM(argument, i)) : Object::borrow(item);
    PyTuple_SET_ITEM(all.get(), i, value.take());
  }
  return all;
}

/// The sum of two answers: tensors, or tuples of them.
Object sum(Object a, Object b) {
  if (!a) return b;
  if (is_tensor(a.get())) return wrap(add_tensors(as_tensor(a.get()), as_tensor(b.get())));
  Object total = checked(PyTuple_New(PyTuple_GET_SIZE(a.get())));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(a.get()); ++i) {
    PyObject *left = PyTuple_GET_ITEM(a.get(), i), *right = PyTuple_GET_ITEM(b.get(), i);
    Object item = is_tensor(left) && is_tensor(right) ? wrap(add_tensors(as_tensor(left), as_tensor(right)))
                                                      : Object::borrow(is_tensor(left) ? left : right);
    PyTuple_SET_ITEM(total.get(), i, item.take());
  }
  return total;
}

/// Whether two tensors, or what they are elements of, have their values in one place.
bool on_same_memory(const Tensor* a, const Tensor* b) {
  while (is_batched(a)) a = batched_value(a);
  while (is_batched(b)) b = batched_value(b);
  return a->storage == b->storage;
}

bool has_layout(const Tensor* tensor, const Shape* layout) {
  if (tensor->shape == layout) return true;
  for (int d = 0; d < layout->ndim; ++d)
    if (layout->sizes()[d] > 1 && tensor->stride(d) != layout->strides()[d]) return false;
  return true;
}

/// The value in the strides of `layout`, of which it has the sizes.
TensorPtr laid_out(TensorPtr value, const Shape* layout) {
  if (has_layout(value.get(), layout)) return value;
  // Elements that share memory in the tensor need not in its tangent.
  for (int d = 0; d < layout->ndim; ++d)
    if (layout->sizes()[d] > 1 && layout->strides()[d] == 0) return value;
  return spread_recorded(value.get(), layout);
}

/// The value in the sizes of a tensor, to which it broadcasts.
TensorPtr expanded_to(TensorPtr value, const Tensor* tensor) {
  if (same_sizes(value->shape, tensor->shape)) return value;
  Object size = make_tuple(tensor->sizes());
  return as_result(call_op(cached_op("expand", [] {}), {as_object(value.get()), size.get()}));
}

/// Whether a tangent, and what it is an element of, has a history.
bool has_history(const Tensor* tangent) {
  for (; is_batched(tangent); tangent = batched_value(tangent))
    if (requires_grad(tangent)) return true;
  return requires_grad(tangent);
}

/// Whether a tangent may be written into; one that has a history may be saved for a backward.
bool may_change(Tensor* tangent) {
  if (recording() && has_history(tangent)) return false;
  for (int d = 0; d < tangent->ndim(); ++d)
    if (tangent->size(d) > 1 && tangent->stride(d) == 0) return false;
  return true;
}

}  // namespace

bool forward_enabled() { return enabled; }
bool set_forward_enabled(bool on) { return std::exchange(enabled, on); }

TensorPtr Forward::tangent(Tensor* tensor) const {
  Tensor* own = own_tangent(tensor, number());
  Tensor* base = view_base(tensor);
  Tensor* whole = base ? own_tangent(base, number()) : nullptr;
  // That of a view is a part of its base's, which may have been replaced.
  if (!whole || (own && on_same_memory(own, whole)) || !is_differentiable(tensor->dtype) ||
      !has_layout(whole, base->shape))
    return TensorPtr::borrow(own);
  return view_recorded(whole, tensor->dtype, tensor->shape, offset_in_base(tensor));
}

void Forward::give(Tensor* tensor, TensorPtr value) const {
  set_own_tangent(tensor, number(), laid_out(std::move(value), tensor->shape));
}

void Forward::set_tangent(Tensor* tensor, TensorPtr value) const {
  value = laid_out(std::move(value), tensor->shape);
  TensorPtr before = tangent(tensor);
  if (before && may_change(before.get()) && !outgrows(value.get(), before.get())) {
    copy_recorded(before.get(), value.get());
    return set_own_tangent(tensor, number(), std::move(before));
  }
  Tensor* base = view_base(tensor);
  if (!base) return set_own_tangent(tensor, number(), std::move(value));
  Tensor* whole_before = own_tangent(base, number());
  const bool fits = whole_before && !outgrows(value.get(), whole_before);
  TensorPtr whole = fits ? clone_recorded(whole_before) : zeros_recorded(value.get(), base->sizes());
  if (whole_before && !fits) whole = add_tensors(whole.get(), whole_before);
  whole = laid_out(std::move(whole), base->shape);
  TensorPtr part = view_recorded(whole.get(), tensor->dtype, tensor->shape, offset_in_base(tensor));
  copy_recorded(part.get(), value.get());
  set_own_tangent(base, number(), std::move(whole));
  set_own_tangent(tensor, number(), std::move(part));
}

bool Forward::concerns(const Op& op, PyObject* const* slots) const {
  if (!enabled || (mode_flags & kInferenceMode)) return false;
  return any_tensor(slots, op.arguments.size(), [&](Tensor* tensor) {
    if (!tensor->extra) return false;
    if (own_tangent(tensor, number())) return true;
    Tensor* base = view_base(tensor);
    return base && own_tangent(base, number());
  });
}

std::vector<Object> Forward::tangents(const Op& op, PyObject* const* slots) const {
  std::vector<Object> found(op.arguments.size());
  for (size_t i = 0; i < found.size(); ++i) {
    if (is_tensor(slots[i])) {
      if (TensorPtr value = tangent(as_tensor(slots[i]))) found[i] = wrap(std::move(value));
      continue;
    }
    if (!is_sequence(slots[i]) || !any_tensor(slots + i, 1, [&](Tensor* item) { return bool(tangent(item)); }))
      continue;
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(slots[i]);
    found[i] = checked(PyTuple_New(n));
    for (Py_ssize_t k = 0; k < n; ++k) {
      PyObject* item = PySequence_Fast_GET_ITEM(slots[i], k);
      TensorPtr value = is_tensor(item) ? tangent(as_tensor(item)) : TensorPtr();
      PyTuple_SET_ITEM(found[i].get(), k, value ? as_object(value.take()) : Py_NewRef(Py_None));
    }
  }
  return found;
}

Object Forward::call(Op& op, PyObject* const* slots) {
  if (!concerns(op, slots)) return op.call(slots);
  if (Object result = call_parts(op, slots)) return result;
  Op& chosen = op.chosen(slots);
  Object result = chosen.call(slots);
  if (chosen.edge_slots.empty() || result.get() == slots[0]) return result;
  if (is_tensor(result.get()) && is_sparse(as_tensor(result.get()))) refuse_sparse_tangent(chosen.shown.c_str());
  Object tangent = derivative(chosen, slots, tangents(chosen, slots), result.get());
  if (tangent) attach(chosen, result.get(), tangent.get());
  return result;
}

/// Calls a linear op that has nothing but an in-place form on tangents: what it would write is written into `target`.
static void change_tangent(Op& op, PyObject* const* slots, const std::vector<Object>& tangents, Tensor* target) {
  PyObject* args[kMaxArguments];
  Object owned[kMaxArguments];
  std::copy(slots, slots + op.count, args);
  for (const Substitution& group : op.transforms().substitutions)
    for (uint8_t slot : group.tangents) args[slot] = (owned[slot] = filled(tangents[slot].get(), slots[slot])).get();
  args[0] = as_object(target);
  op.call_in_place(args);
}

void Forward::change(Op& op, PyObject* const* slots) {
  if (!is_tensor(slots[0]) || !concerns(op, slots)) return op.call_in_place(slots);
  Tensor* target = as_tensor(slots[0]);
  if (!is_differentiable(target->dtype)) return op.call_in_place(slots);
  Op& chosen = op.variant(slots);
  std::vector<Object> given = tangents(chosen, slots);
  TensorPtr value = changed_tangent(chosen, slots, given);
  TensorPtr own = TensorPtr::borrow(own_tangent(target, number()));
  // What the record keeps of the target has the tangent from before, which is about to be written into.
  if (given[0] && recording()) set_own_tangent(target, number(), clone_recorded(as_tensor(given[0].get())));
  AfterChange then(*this, target, [&] {
    set_own_tangent(target, number(), std::move(own));
    if (value->dtype != target->dtype) value = cast_recorded(value.get(), target->dtype);
    if (chosen.kind == Op::Kind::View) return give(target, std::move(value));
    set_tangent(target, expanded_to(std::move(value), target));
  });
  op.call_in_place(slots);
  then.finish();
}

TensorPtr Forward::changed_tangent(Op& op, PyObject* const* slots, const std::vector<Object>& given) const {
  Tensor* target = as_tensor(slots[0]);
  const bool has_result = op.glue || op.forward || op.kind == Op::Kind::Elementwise;
  if (!op.edge_slots.empty() && has_result) {
    // What is recorded must not see the change.
    PyObject* args[kMaxArguments];
    std::copy(slots, slots + op.count, args);
    TensorPtr before = recording() ? clone_recorded(target) : TensorPtr::borrow(target);
    args[0] = as_object(before.get());
    Object result = op.call(args);
    Object tangent = derivative(op, args, given, result.get());
    if (tangent && is_tensor(tangent.get())) return as_result(std::move(tangent));
  }
  if (has_result || !op.transforms().linear_slots) return as_result(zeros_like(slots[0]));
  TensorPtr value = given[0] ? clone_recorded(as_tensor(given[0].get())) : as_result(zeros_like(slots[0]));
  change_tangent(op, slots, given, value.get());
  return value;
}

/// Whether some result can have a tangent.
static bool any_differentiable(PyObject* result) {
  return any_tensor(&result, 1, [](Tensor* tensor) { return is_differentiable(tensor->dtype); });
}

Object Forward::derivative(Op& op, PyObject* const* slots, const std::vector<Object>& tangents,
                           PyObject* result) const {
  if (!any_differentiable(result)) return {};
  uint32_t given = 0;
  for (uint8_t slot : op.edge_slots)
    if (tangents[slot]) given |= 1u << slot;
  if (!given) return {};
  if (!(given & ~op.transforms().linear_slots)) return by_substitution(op, slots, tangents);
  if (op.transforms().jvp.callable) return call_jvp(op, slots, tangents, result);
  if (op.kind == Op::Kind::Elementwise && !is_complex(as_tensor(result)->dtype)) {
    bool real = true;
    for (int i = 0; i < op.n_operands; ++i) real &= !is_tensor(slots[i]) || !is_complex(as_tensor(slots[i])->dtype);
    if (real) return by_elementwise_rules(op, slots, tangents, as_tensor(result));
  }
  static PyObject* transpose = [] {
    Object module = checked(PyImport_ImportModule("adjoint.func._transpose"));
    return checked(PyObject_GetAttrString(module.get(), "tangent")).take();
  }();
  Object args = checked(PyTuple_New(op.count)), along = checked(PyTuple_New(op.count));
  for (int i = 0; i < op.count; ++i) {
    PyTuple_SET_ITEM(args.get(), i, Py_NewRef(slots[i]));
    PyTuple_SET_ITEM(along.get(), i, Py_NewRef(tangents[i] ? tangents[i].get() : Py_None));
  }
  return checked(call_python(transpose, op_object_of(op), args.get(), along.get()));
}

Object Forward::by_substitution(Op& op, PyObject* const* slots, const std::vector<Object>& tangents) const {
  Object total;
  for (const Substitution& group : op.transforms().substitutions) {
    bool any = false;
    for (uint8_t slot : group.tangents) any |= static_cast<bool>(tangents[slot]);
    if (!any) continue;
    PyObject* args[kMaxArguments];
    Object owned[kMaxArguments];
    std::copy(slots, slots + op.count, args);
    for (uint8_t slot : group.tangents) args[slot] = (owned[slot] = filled(tangents[slot].get(), slots[slot])).get();
    for (uint8_t slot : group.zeros) args[slot] = (owned[slot] = zeros_like(slots[slot])).get();
    total = sum(std::move(total), op.call(args));
  }
  return total;
}

/// What a rule calls by this item's name, of a call whose result is there.
static PyObject* item_of(const SavedItem& item, PyObject* const* slots, PyObject* result) {
  if (item.what == SavedItem::What::Argument || item.what == SavedItem::What::ArgumentMeta) return slots[item.index];
  return PyTuple_Check(result) ? PyTuple_GET_ITEM(result, item.index) : result;
}

Object Forward::call_jvp(Op& op, PyObject* const* slots, const std::vector<Object>& tangents, PyObject* result) const {
  PyObject* args[kMaxArguments * 2];
  Object owned[kMaxArguments * 2];
  int n = 0;
  for (const JvpForm::Parameter& parameter : op.transforms().jvp.parameters) {
    if (parameter.tangent) {
      owned[n] = filled(tangents[parameter.item.index].get(), slots[parameter.item.index]);
      args[n] = owned[n].get();
    } else {
      args[n] = item_of(parameter.item, slots, result);
    }
    ++n;
  }
  return checked(call_python(op.transforms().jvp.callable.get(), args, n, nullptr));
}

/// Whether the loops of an elementwise op may compute a tangent: nobody else wants to see how.
static bool unwatched(PyObject* const* slots, size_t count, const std::vector<Object>& tangents) {
  if (mode_flags & kTransformed) return false;
  auto plain = [](PyObject* object) {
    return !object || !is_tensor(object) ||
           (!is_batched(as_tensor(object)) && !(recording() && requires_grad(as_tensor(object))));
  };
  return std::all_of(slots, slots + count, plain) &&
         std::ranges::all_of(tangents, [&](const Object& tangent) { return plain(tangent.get()); });
}

Object Forward::by_elementwise_rules(Op& op, PyObject* const* slots, const std::vector<Object>& tangents,
                                     Tensor* result) const {
  const bool loops = unwatched(slots, op.arguments.size(), tangents);
  TensorPtr total;
  for (uint8_t slot : op.edge_slots) {
    if (!tangents[slot]) continue;
    const Rule& rule = op.rules[slot];
    if (!rule.refusal.empty()) fail(ErrorKind::NotImplemented, rule.refusal);
    if (!rule.differentiable)
      fail("the derivative of ", op.shown, " with respect to '", PyUnicode_AsUTF8(op.arguments[slot].name.get()),
           "' is not implemented; detach() it if no tangent is wanted");
    if (rule.zero) continue;
    TensorPtr tangent = TensorPtr::borrow(as_tensor(tangents[slot].get()));
    if (tangent->dtype != result->dtype) tangent = cast_recorded(tangent.get(), result->dtype);
    TensorPtr term = rule.identity        ? tangent
                     : loops && rule.loop ? op.loop_tangent(rule, tangent.get(), slots, result)
                                          : op.rule_tangent(rule, tangent.get(), slots, result);
    total = total ? add_tensors(total.get(), term.get()) : std::move(term);
  }
  return total ? wrap(std::move(total)) : zeros_like(as_object(result));
}

void Forward::attach(const Op& op, PyObject* result, PyObject* tangent) const {
  auto attach_one = [&](PyObject* output, PyObject* its_tangent) {
    if (!is_tensor(output) || !is_tensor(its_tangent)) return;
    Tensor* tensor = as_tensor(output);
    if (!is_differentiable(tensor->dtype)) return;
    TensorPtr value = TensorPtr::borrow(as_tensor(its_tangent));
    if (value->dtype != tensor->dtype) value = cast_recorded(value.get(), tensor->dtype);
    give(tensor, expanded_to(std::move(value), tensor));
    if (tensor->grad_fn) op.save_output_again(*tensor->grad_fn, tensor);
  };
  if (!PyTuple_Check(result)) return attach_one(result, tangent);
  if (!PyTuple_Check(tangent)) return attach_one(PyTuple_GET_ITEM(result, 0), tangent);
  for (Py_ssize_t i = 0; i < std::min(PyTuple_GET_SIZE(result), PyTuple_GET_SIZE(tangent)); ++i)
    attach_one(PyTuple_GET_ITEM(result, i), PyTuple_GET_ITEM(tangent, i));
}

}  // namespace adjoint
