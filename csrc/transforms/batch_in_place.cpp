// In-place ops under vmap: what is batched is changed for all elements at once, what they share is not.
#include <algorithm>

#include "core/mode.h"
#include "core/tangent.h"
#include "op/object.h"
#include "op/recorded.h"
#include "op/transform_rules.h"
#include "tape/change.h"
#include "tape/history.h"
#include "transforms/batch.h"
#include "types/types.h"

namespace adjoint {

/// What was saved of a batched tensor before it had views counts with its storage.
static void note_change(Tensor* target) {
  ++target->storage->version;
  if (Tensor* base = view_base(target)) ++base->storage->version;
}

/// Refuses an operand of an in-place op that is larger than what is changed.
static void check_broadcast(const Tensor* target, const Tensor* operand) {
  int64_t sizes[kMaxDims];
  const int n = broadcast_sizes(target->sizes(), operand->sizes(), sizes);
  if (!std::ranges::equal(target->sizes(), Sizes(sizes, static_cast<size_t>(n))))
    fail("output with shape ", to_string(target->sizes()), " doesn't match the broadcast shape ",
         to_string({sizes, static_cast<size_t>(n)}));
}

[[noreturn]] static void refuse_same_draws(const Op& op) {
  fail(
      "Vmap does not currently support same randomness with a batched tensor input: the numbers would differ from "
      "element to element; use randomness=\"different\" (",
      op.shown_in_place, "())");
}

void Batch::refuse_shared(const std::string& name, Tensor* target) const {
  static PyObject* words = python_function("adjoint.func._in_place_words", "change_of_shared").take();
  Object sizes = make_tuple(target->sizes());
  Object text = checked(PyObject_CallFunction(words, "sOLK", name.c_str(), sizes.get(), static_cast<long long>(size_),
                                              static_cast<unsigned long long>(number())));
  fail(PyUnicode_AsUTF8(text.get()));
}

void Batch::check_shared_draw(Op& op, PyObject* const* slots) const {
  check_randomness(op);
  const bool spread = spreads(slots, op.arguments.size());
  if (randomness_ == Randomness::Same) {
    if (spread) refuse_same_draws(op);
    return;
  }
  if (spread) refuse_shared(op.shown_in_place, as_tensor(slots[0]));
  fail(
      "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same "
      "randomness: draw a new tensor, or fill one that is batched, as x.new_empty() is (",
      op.shown_in_place, "())");
}

/// Whether a tensor, or what it is an element of, has a gradient or a tangent.
static bool is_differentiated(const Tensor* tensor) {
  for (;; tensor = batched_value(tensor)) {
    if (requires_grad(tensor) || has_tangents(tensor)) return true;
    if (!is_batched(tensor)) return false;
  }
}

Object Batch::change_memory(Op& op, PyObject* const* slots) {
  if (!is_tensor(slots[0])) return op.call(slots);  // which refuses it
  Tensor* target = as_tensor(slots[0]);
  const bool spread = spreads(slots, op.arguments.size());
  if (!is_batched_at(target, number()) || (is_shared(target) && spread)) refuse_shared(op.shown, target);
  check_inplace(target, op.shown.c_str(), false);
  TensorPtr value;
  if (spread) {
    Object differentiated = checked(PyTuple_New(op.count));
    for (int i = 0; i < op.count; ++i)
      PyTuple_SET_ITEM(differentiated.get(), i, PyBool_FromLong(any_tensor(slots + i, 1, is_differentiated)));
    value = as_result(call_with_values(op.transforms().batch.get(), op, slots, differentiated.get()));
  } else {
    value = TensorPtr::borrow(batched_value(target));
    call_shared(op, slots);
  }
  bump_version(target, op.shown.c_str());
  note_change(target);  // for those who keep what it was
  set_batched_value(target, std::move(value));
  return Object::borrow(slots[0]);
}

void Batch::change(Op& op, PyObject* const* slots) {
  if (!is_tensor(slots[0])) return op.call_in_place(slots);
  Tensor* target = as_tensor(slots[0]);
  const bool random = op.transforms().random;
  if (random && !is_batched_at(target, number())) check_shared_draw(op, slots);
  if (!concerns(op, slots)) return op.call_in_place(slots);
  const bool spread = spreads(slots, op.arguments.size());
  if (!is_batched_at(target, number()) || (is_shared(target) && spread)) refuse_shared(op.shown_in_place, target);
  Op& chosen = op.variant(slots);
  if (random) return chosen.change_through(*this, slots, [&] { fill(op, slots, batched_value(target)); });
  if (!spread) return change_shared(op, chosen, slots);
  if (chosen.kind == Op::Kind::Elementwise) return change_elementwise(op, chosen, slots);
  change_by_rule(op, chosen, slots);
}

void Batch::change_shared(Op& op, Op& chosen, PyObject* const* slots) {
  chosen.change_through(*this, slots, [&] {
    Object values[kMaxArguments];
    PyObject* given[kMaxArguments];
    for (int i = 0; i < op.count; ++i) given[i] = (values[i] = outside(slots[i])).get();
    op.call_in_place(given);
    if (chosen.kind == Op::Kind::View) set_batched_value(as_tensor(slots[0]), TensorPtr::borrow(as_tensor(given[0])));
  });
}

void Batch::change_elementwise(Op& op, Op& chosen, PyObject* const* slots) {
  Tensor* target = as_tensor(slots[0]);
  Object owned[kMaxArguments];
  PyObject* values[kMaxArguments];
  if (!line_up(chosen, slots, values, owned)) return op.call_in_place(slots);  // which refuses
  for (int i = 1; i < chosen.n_operands; ++i)
    if (is_tensor(slots[i])) check_broadcast(target, as_tensor(slots[i]));
  chosen.change_through(*this, slots, [&] {
    op.call_in_place(values);
    note_change(target);
  });
}

void Batch::change_by_rule(Op& op, Op& chosen, PyObject* const* slots) {
  Tensor* target = as_tensor(slots[0]);
  TensorPtr value = TensorPtr::borrow(batched_value(target));
  // What is recorded of the values must not see the change.
  PyObject* args[kMaxArguments];
  std::copy(slots, slots + op.count, args);
  TensorPtr before;
  if (chosen.kind != Op::Kind::View && recording() && requires_grad(value.get())) {
    before = make_batched(clone_recorded(value.get()), number(), false);
    args[0] = as_object(before.get());
  }
  Object result = call_rule(chosen, args);
  if (!is_tensor(result.get())) fail(op.shown_in_place, ": the op has no single result to write in place");
  Tensor* written = as_tensor(result.get());
  if (chosen.kind == Op::Kind::View)
    return chosen.change_through(*this, slots, [&] { set_batched_value(target, TensorPtr::borrow(written)); });
  ops::check_in_place_result(target, written->sizes().subspan(1), written->dtype);
  chosen.change_through(*this, slots, [&] {
    copy_recorded(value.get(), written);
    note_change(target);
  });
}

void Batch::fill(Op& op, PyObject* const* slots, Tensor* value) {
  check_randomness(op);
  PyObject* values[kMaxArguments];
  Object owned[kMaxArguments];
  for (int i = 1; i < op.count; ++i) {
    const bool spread = spreads(slots + i, 1);
    if (spread && randomness_ == Randomness::Same) refuse_same_draws(op);
    owned[i] = outside(slots[i]);
    if (spread && is_tensor(slots[i]))
      owned[i] = with_dims(as_tensor(owned[i].get()), std::max(0, value->ndim() - as_tensor(owned[i].get())->ndim()));
    values[i] = owned[i].get();
  }
  if (randomness_ == Randomness::Different) {
    values[0] = as_object(value);
    return op.call_in_place(values);
  }
  Object size = make_tuple(value->sizes().subspan(1));
  Object one = call_op(cached_op("new_empty", [] {}), {as_object(value), size.get()});
  values[0] = one.get();
  op.call_in_place(values);
  copy_recorded(value, as_tensor(one.get()));
}

}  // namespace adjoint
